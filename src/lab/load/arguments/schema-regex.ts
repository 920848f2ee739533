import type { RegExpEngine, RegExpLike } from 'ajv/dist/types/index.js'
import { MAX_REGEX_TEXT, SafeRegex } from '../../../base/regex/safe-regex.ts'

/**
 * Expressions of schemas come from servers, and must not choose how long a check takes. One that is
 * not understood, and a text that is too long, count as matching: a check must not invent failures.
 */
export const compileSafeRegex: RegExpEngine = Object.assign(
  (pattern: string): RegExpLike => {
    // By its text the validator tells expressions apart: without it all would be the first one.
    const regex = { test: testOf(pattern), toString: () => `/${pattern}/` }
    return regex
  },
  // Only asked for when checks are written out as source, which these are not.
  { code: 'new RegExp' },
)

function testOf(pattern: string): (text: string) => boolean {
  try {
    const regex = new SafeRegex(pattern)
    return (text) => text.length > MAX_REGEX_TEXT || regex.test(text)
  } catch {
    return () => true
  }
}
