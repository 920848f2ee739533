import type { Random } from '../../support/random.ts'

/** The parts that a mutation may add to an input. */
export interface Material {
  readonly tokens: readonly string[]
  /** Other inputs, of which pieces are taken. */
  readonly others: readonly string[]
  readonly maxLength: number
  /** Strokes that leave an input what it is; taken half of the time where there are any. */
  readonly own: readonly OwnStroke[]
}

/** A stroke of a target's own. */
export type OwnStroke = (random: Random, text: string) => string

/** Another input, a few strokes away. */
export function mutated(random: Random, input: string, material: Material): string {
  let text = input
  for (let left = random.pick([1, 1, 2, 3, 6]); left > 0; left--) {
    const own = material.own.length > 0 && random.chance(0.5)
    text = own
      ? random.pick(material.own)(random, text)
      : random.pick(STROKES)(random, text, material)
  }
  return text.slice(0, material.maxLength)
}

type Stroke = (random: Random, text: string, material: Material) => string

const STROKES: readonly Stroke[] = [
  (random, text, { tokens }) => put(text, anywhere(random, text), random.pick(tokens)),
  (random, text, { tokens }) => put(text, edge(random, text), random.pick(tokens)),
  (random, text, { tokens }) => {
    const at = anywhere(random, text)
    const token = random.pick(tokens)
    return text.slice(0, at) + token + text.slice(at + token.length)
  },
  (random, text) => {
    const at = anywhere(random, text)
    return text.slice(0, at) + String.fromCharCode(random.int(0, 255)) + text.slice(at + 1)
  },
  (random, text) => {
    const at = anywhere(random, text)
    return text.slice(0, at) + text.slice(at + random.pick([1, 1, 2, 4, 16]))
  },
  (random, text) => {
    const piece = someOf(random, text)
    return put(text, random.chance(0.5) ? edge(random, text) : anywhere(random, text), piece)
  },
  (random, text, { others }) => put(text, edge(random, text), someOf(random, random.pick(others))),
  (random, text, { others }) =>
    text.slice(0, edge(random, text)) + someOf(random, random.pick(others)),
  numberStroke,
  caseStroke,
  lineStroke,
]

/** A number one more, one less, longer, or with a zero in front. */
function numberStroke(random: Random, text: string): string {
  const numbers = [...text.matchAll(/[0-9a-f]+/gi)].filter(([found]) => /\d/.test(found))
  if (numbers.length === 0) return text
  const { 0: number, index } = random.pick(numbers)
  const value = Number.parseInt(number, 10) || 0
  const another = random.pick([
    '0',
    String(value + 1),
    String(Math.max(0, value - 1)),
    String(value * 10),
    String(random.int(0, 40)),
    String(random.int(0, 9)).repeat(random.int(5, 20)),
    `${number}${random.int(0, 9)}`,
    `${'0'.repeat(random.int(1, 12))}${number}`,
  ])
  return text.slice(0, index) + another + text.slice(index + number.length)
}

function caseStroke(random: Random, text: string): string {
  const at = anywhere(random, text)
  const code = text.charCodeAt(at)
  return Number.isNaN(code)
    ? text
    : text.slice(0, at) + String.fromCharCode(code ^ 0x20) + text.slice(at + 1)
}

/** A line once more, gone, or elsewhere. */
function lineStroke(random: Random, text: string): string {
  const lines = text.split('\r\n')
  const from = random.int(0, lines.length - 1)
  const line = lines[from]!
  if (random.chance(0.6)) lines.splice(from, 1)
  if (random.chance(0.7)) lines.splice(random.int(0, lines.length), 0, line)
  return lines.join('\r\n')
}

function anywhere(random: Random, text: string): number {
  return random.int(0, text.length)
}

/** The beginning or the end of a line or of a word: that is where parsers differ. */
function edge(random: Random, text: string): number {
  const at = anywhere(random, text)
  const marker = text.indexOf(random.pick(['\r\n', '\r\n', ' ', ':', '=', '"', ',', '}', '\0']), at)
  return marker < 0 ? at : marker + random.pick([0, 1, 2])
}

function someOf(random: Random, text: string): string {
  const from = anywhere(random, text)
  return text.slice(from, from + random.pick([1, 4, 16, 64, 256]))
}

function put(text: string, at: number, piece: string): string {
  return text.slice(0, at) + piece + text.slice(at)
}
