import type { CharSet } from '../../../base/regex/char-set.ts'
import { parseRegex, type RegexNode } from '../../../base/regex/regex-parse.ts'
import { intBetween, pick, type RandomSource } from '../../../base/seeded-random.ts'

/** The number of repetitions beyond the lower bound of a part without an upper one. */
const EXTRA = 4
const MAX_TEXT = 4096

/**
 * A text that the expression matches; undefined when the expression is not understood. What has no
 * upper bound is repeated up to `extra` times more than it has to be.
 */
export function matchingText(
  pattern: string,
  random: RandomSource,
  extra = EXTRA,
): string | undefined {
  try {
    return textOf(parseRegex(pattern), random, { left: MAX_TEXT, extra })
  } catch {
    return undefined
  }
}

interface Room {
  left: number
  readonly extra: number
}

function textOf(node: RegexNode, random: RandomSource, room: Room): string {
  switch (node.kind) {
    case 'set':
      if (--room.left < 0) throw new RangeError('the text is too long')
      return String.fromCodePoint(characterOf(node.set, random))
    case 'assert':
      return ''
    case 'sequence':
      return node.parts.map((part) => textOf(part, random, room)).join('')
    case 'choice':
      return textOf(pick(random, node.options), random, room)
    case 'repeat':
    default: {
      const times = intBetween(random, node.min, Math.min(node.max, node.min + room.extra))
      return Array.from({ length: times }, () => textOf(node.node, random, room)).join('')
    }
  }
}

/** Letters and digits where the set has them: they need no care on the way. */
function characterOf(set: CharSet, random: RandomSource): number {
  const ranges: (readonly [number, number])[] = []
  const plain: (readonly [number, number])[] = []
  for (let i = 0; i + 1 < set.length; i += 2) {
    const [low, high] = [set[i]!, set[i + 1]!]
    ranges.push([low, high])
    for (const [from, to] of [
      [0x61, 0x7a],
      [0x30, 0x39],
      [0x41, 0x5a],
    ] as const) {
      if (low <= to && high >= from) plain.push([Math.max(low, from), Math.min(high, to)])
    }
  }
  const [low, high] = pick(random, plain.length > 0 ? plain : ranges)
  return intBetween(random, low, Math.min(high, low + 200))
}
