import type { PodLabels } from '../watch/pod-labels.ts'

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
