import { type Arbitrary, nat } from 'fast-check'

const SURROGATES = 0xd800
const AFTER_SURROGATES = 0xe000
const GAP = AFTER_SURROGATES - SURROGATES

/**
 * Any character of Unicode, as the unit of a string. The unit `binary` of fast-check is the same,
 * but builds a table of a million characters in each worker.
 */
export const ANY_CHARACTER: Arbitrary<string> = nat({ max: 0x10ffff - GAP }).map(
  (index) => String.fromCodePoint(index < SURROGATES ? index : index + GAP),
  (character) => {
    const point = typeof character === 'string' ? character.codePointAt(0) : undefined
    if (point === undefined || String.fromCodePoint(point) !== character) {
      throw new Error('not one character')
    }
    return point < SURROGATES ? point : point - GAP
  },
)
