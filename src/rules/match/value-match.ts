import { isRecord, sameJson } from '../../base/values.ts'
import { SafeRegex } from '../../base/regex/safe-regex.ts'

/** The operators on a value. All that are given must hold. */
export interface ValueOperators {
  readonly exact?: unknown
  readonly prefix?: string | undefined
  readonly suffix?: string | undefined
  readonly contains?: string | undefined
  readonly regex?: string | undefined
  readonly present?: boolean | undefined
  readonly absent?: boolean | undefined
  readonly gt?: number | undefined
  readonly lt?: number | undefined
  readonly not?: ValueSpec | undefined
}

export type ValueSpec = string | number | boolean | null | readonly unknown[] | ValueOperators

/** `text` values come from headers: a number is compared by how it is spelt. */
export type ValueKind = 'json' | 'text'

/** Returns true for values that a rule means. An absent value is undefined. */
export interface ValueMatcher {
  /** In words, for people. */
  readonly wants: string
  /** The one text that matches, where there is just that. */
  readonly only: string | undefined
  /** Conditions of which one value must meet all. */
  readonly positive: readonly ((value: unknown) => boolean)[]
  /** Conditions that no value may meet. */
  readonly negative: ValueMatcher | undefined
}

/** Reads a value match; throws a `RegexError`. */
export function compileValue(spec: ValueSpec, kind: ValueKind): ValueMatcher {
  const operators = isOperators(spec) ? spec : { exact: spec }
  const { exact, prefix, suffix, contains, regex, present, absent, gt, lt, not } = operators
  const positive: ((value: unknown) => boolean)[] = []
  const wants: string[] = []
  const add = (said: string, holds: (value: unknown) => boolean): void => {
    wants.push(said)
    positive.push(holds)
  }
  const addText = (said: string, holds: (text: string) => boolean): void =>
    add(said, (value) => typeof value === 'string' && holds(value))
  const wanted = kind === 'text' ? spelt(exact) : exact
  if (wanted !== undefined) add(JSON.stringify(wanted), (value) => sameJson(wanted, value))
  if (prefix !== undefined) addText(`${prefix}…`, (text) => text.startsWith(prefix))
  if (suffix !== undefined) addText(`…${suffix}`, (text) => text.endsWith(suffix))
  if (contains !== undefined) addText(`…${contains}…`, (text) => text.includes(contains))
  if (regex !== undefined) {
    const compiled = new SafeRegex(regex)
    addText(`/${regex}/`, (text) => compiled.test(text))
  }
  if (present ?? false) add('present', (value) => value !== undefined)
  if (present === false || (absent ?? false)) add('absent', (value) => value === undefined)
  if (absent === false) add('present', (value) => value !== undefined)
  if (gt !== undefined) add(`> ${gt}`, (value) => numberOf(value, kind) > gt)
  if (lt !== undefined) add(`< ${lt}`, (value) => numberOf(value, kind) < lt)
  const negative = not === undefined ? undefined : compileValue(not, kind)
  if (negative !== undefined) wants.push(`not ${negative.wants}`)
  const isOnly = positive.length === 1 && negative === undefined && typeof wanted === 'string'
  return {
    wants: wants.length === 0 ? 'anything' : wants.join(' and '),
    only: isOnly ? wanted : undefined,
    positive,
    negative,
  }
}

export function matchesValue(matcher: ValueMatcher, value: unknown): boolean {
  for (const holds of matcher.positive) if (!holds(value)) return false
  return matcher.negative === undefined || !matchesValue(matcher.negative, value)
}

/** True when one of the texts is meant, and none is excluded. */
export function matchesAny(matcher: ValueMatcher, texts: readonly string[]): boolean {
  if (texts.length < 2) return matchesValue(matcher, texts[0])
  const { positive, negative } = matcher
  if (!texts.some((text) => positive.every((holds) => holds(text)))) return false
  return negative === undefined || !matchesAny(negative, texts)
}

/** The number that a value is, or NaN, which is neither above nor below anything. */
function numberOf(value: unknown, kind: ValueKind): number {
  if (typeof value === 'number') return value
  const isSpelt = kind === 'text' && typeof value === 'string' && NUMBER.test(value)
  return isSpelt ? Number(value) : Number.NaN
}

/** A number or a boolean as a header spells it. */
function spelt(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
}

const NUMBER = /^[+-]?[0-9]{1,20}(?:\.[0-9]{1,20})?$/

function isOperators(spec: ValueSpec): spec is ValueOperators {
  return isRecord(spec)
}
