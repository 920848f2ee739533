import type { PodLabels } from '../watch/pod-labels.ts'
import { branches, type MatchSpec } from '../file/match-spec.ts'
import { showValue, type MatchTest } from './match-test.ts'
import { compileText } from './text-match.ts'

/** The pod in which rules are read. Unknown values are undefined, as outside a pod. */
export interface PodSelf {
  /** Name of what makes the pod: a Deployment, a StatefulSet, a Job … */
  readonly workload?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/** One key about the pod, and what this pod has in its place. */
export interface PodMismatch {
  readonly dimension: string
  readonly wants: string
  readonly found: string
}

const UNKNOWN = 'unknown: Squall was not injected into this pod'

/** True when a match, or any part of it, is about the pod. */
export function isAboutPods(spec: MatchSpec): boolean {
  return (
    spec.workload !== undefined ||
    spec.podLabels !== undefined ||
    branches(spec).some((inner) => isAboutPods(inner))
  )
}

/**
 * Returns why a match can hold for no call in this pod; nothing when it can. Where the pod is not
 * known, a match that is about pods never holds, also when it says `not`.
 */
export function notForPod(spec: MatchSpec, self: PodSelf): readonly PodMismatch[] {
  const keys = keysOf(spec)
  const unknown = keys.filter(({ holds }) => holds === undefined)
  if (unknown.length > 0) return unknown.map(mismatchOf)
  if (holdsHere(spec, self) !== false) return []
  const failing = ownKeys(spec, self).filter(({ holds }) => holds === false)
  return (failing.length > 0 ? failing : keys).map(mismatchOf)

  function keysOf(at: MatchSpec): readonly PodKey[] {
    return [...ownKeys(at, self), ...branches(at).flatMap(keysOf)]
  }
}

/**
 * Returns a test for each key about the pod that does not hold: the others say nothing of calls.
 */
export function podTests(spec: MatchSpec, self: PodSelf): readonly MatchTest[] {
  return ownKeys(spec, self)
    .filter(({ holds }) => holds !== true)
    .map(({ dimension, wants, found }) => ({
      dimension,
      wants,
      test: () => false,
      found: () => found,
    }))
}

interface PodKey extends PodMismatch {
  /** Undefined where the pod is not known. */
  readonly holds: boolean | undefined
}

function ownKeys(spec: MatchSpec, { workload, labels }: PodSelf): readonly PodKey[] {
  const keys: PodKey[] = []
  if (spec.workload !== undefined) {
    const matcher = compileText(spec.workload)
    keys.push({
      dimension: 'workload',
      wants: matcher.wants,
      holds: workload === undefined ? undefined : matcher.test(workload),
      found: workload === undefined ? UNKNOWN : showValue(workload),
    })
  }
  for (const [key, wants] of Object.entries(spec.podLabels ?? {})) {
    const own = labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined
    keys.push({
      dimension: `podLabels.${key}`,
      wants: JSON.stringify(wants),
      holds: labels === undefined ? undefined : own === wants,
      found: labels === undefined ? UNKNOWN : showValue(own),
    })
  }
  return keys
}

/**
 * Returns the result of a match that is known before a call; undefined when it depends on the call.
 */
function holdsHere(spec: MatchSpec, self: PodSelf): boolean | undefined {
  const parts: (boolean | undefined)[] = ownKeys(spec, self).map(({ holds }) => holds)
  for (const inner of spec.all ?? []) parts.push(holdsHere(inner, self))
  if (spec.any !== undefined) {
    const some = spec.any.map((inner) => holdsHere(inner, self))
    parts.push(some.includes(true) ? true : some.includes(undefined) ? undefined : false)
  }
  if (spec.not !== undefined) {
    const inner = holdsHere(spec.not, self)
    parts.push(inner === undefined ? undefined : !inner)
  }
  if (parts.includes(false)) return false
  return parts.includes(undefined) || isAboutCalls(spec) ? undefined : true
}

/** Returns true when a match has keys that are not about the pod. */
function isAboutCalls(spec: MatchSpec): boolean {
  const { workload: _, podLabels: __, any: ___, all: ____, not: _____, ...others } = spec
  return Object.values(others).some((value) => value !== undefined)
}

function mismatchOf({ dimension, wants, found }: PodKey): PodMismatch {
  return { dimension, wants, found }
}

type Requirement = (labels: PodLabels) => boolean

const NAME = '[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?'
const VALUE = '(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?'
const EXISTS = new RegExp(`^(!?)\\s*(${NAME})$`)
const EQUALS = new RegExp(`^(${NAME})\\s*(==|=|!=)\\s*(${VALUE})$`)
const SET = new RegExp(`^(${NAME})\\s+(in|notin)\\s*\\(([^()]*)\\)$`)
const IS_VALUE = new RegExp(`^${VALUE}$`)
const MAX_LENGTH = 2_000
const MAX_REQUIREMENTS = 50

/**
 * Parses a label selector as kubectl does: `app=shop,tier!=test`, `env in (a, b)`, `canary`,
 * `!canary`. Returns undefined for anything else.
 */
export function parseLabelSelector(text: string): Requirement | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const parts = text.split(/,(?![^()]*\))/)
  if (parts.length > MAX_REQUIREMENTS) return undefined
  const all: Requirement[] = []
  for (const part of parts) {
    const requirement = parseRequirement(part.trim())
    if (requirement === undefined) return undefined
    all.push(requirement)
  }
  return (labels) => all.every((each) => each(labels))
}

function parseRequirement(text: string): Requirement | undefined {
  const [, not, name] = EXISTS.exec(text) ?? []
  if (name !== undefined) return (labels) => Object.hasOwn(labels, name) === (not === '')
  const [, key, sign, value] = EQUALS.exec(text) ?? []
  if (key !== undefined) return isOneOf(key, [value ?? ''], sign !== '!=')
  const [, member, how, list] = SET.exec(text) ?? []
  if (member === undefined) return undefined
  const values = (list ?? '').split(',').map((each) => each.trim())
  if (!values.every((each) => IS_VALUE.test(each))) return undefined
  return isOneOf(member, values, how === 'in')
}

/** A pod without the label is none of those, as for kubectl. */
function isOneOf(key: string, values: readonly string[], wanted: boolean): Requirement {
  return (labels) => {
    const is = Object.hasOwn(labels, key) && values.includes(labels[key] ?? '')
    return is === wanted
  }
}
