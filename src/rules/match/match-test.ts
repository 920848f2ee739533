import type { Facts } from './call-facts.ts'
import { MAX_REGEX_TEXT } from '../../base/regex/safe-regex.ts'

/**
 * The messages of a rule: calls and notifications of the client, messages of the server, or
 * responses to it.
 */
export type Direction = 'client' | 'server' | 'response'

/** One dimension of a rule's match. */
export interface MatchTest {
  /** As in the file: `tool`, `headers.x-chaos`, `args./city`. */
  readonly dimension: string
  /** The expected value, for people. */
  readonly wants: string
  test(facts: Facts): boolean
  /** Returns the actual value, for people. */
  found(facts: Facts): string
}

export function holdAll(tests: readonly MatchTest[], facts: Facts): boolean {
  for (let i = 0; i < tests.length; i++) if (!tests[i]!.test(facts)) return false
  return true
}

/** A value as `found` shows it: short, and absent where there is none. */
export function showValue(value: unknown): string {
  if (value === undefined) return 'absent'
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'absent')
  if (text.length <= 80) return text
  const unread =
    text.length > MAX_REGEX_TEXT
      ? ` (${text.length} characters; \`regex\` matches no text above ${MAX_REGEX_TEXT})`
      : ''
  return `${text.slice(0, 79)}…${unread}`
}

/** Returns a value as `found` shows it, unless its name says that it is a secret. */
export function shownNamed(name: string, value: string | undefined): string {
  return value !== undefined && SECRET.test(name.toLowerCase()) ? 'present' : showValue(value)
}

const SECRET = /authorization|cookie|token|secret|api-?key/
