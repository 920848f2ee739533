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
