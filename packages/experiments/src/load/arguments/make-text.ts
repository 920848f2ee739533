import { compileSafeRegex } from './schema-check.ts'
import { intBetween, parseRegex, pick, type RandomSource } from '#base'

const WORDS = ['refunds', 'report', 'invoice', 'summary', 'status', 'north', 'blue', 'draft']

type Make = (random: RandomSource) => string

const FORMATS: Readonly<Record<string, Make>> = {
  'date-time': (random) => `${date(random)}T${time(random)}Z`,
  date,
  time: (random) => `${time(random)}Z`,
  duration: (random) => `PT${intBetween(random, 1, 59)}M`,
  email: (random) => `${pick(random, WORDS)}@example.com`,
  'idn-email': (random) => `${pick(random, WORDS)}@example.com`,
  hostname: (random) => `${pick(random, WORDS)}.example.com`,
  uri: (random) => `https://example.com/${pick(random, WORDS)}`,
  url: (random) => `https://example.com/${pick(random, WORDS)}`,
  iri: (random) => `https://example.com/${pick(random, WORDS)}`,
  'uri-reference': (random) => `/${pick(random, WORDS)}`,
  uuid: (random) =>
    `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-8${hex(random, 3)}-${hex(random, 12)}`,
  ipv4: (random) => `192.0.2.${intBetween(random, 1, 254)}`,
  ipv6: (random) => `2001:db8::${hex(random, 4)}`,
  'json-pointer': (random) => `/${pick(random, WORDS)}`,
  regex: () => '.*',
  byte: (random) => Buffer.from(pick(random, WORDS)).toString('base64'),
}

const TRIES = 20
/** Limits the length of generated texts, whatever the schema requires. */
const MAX_TEXT = 65_536

/** Generates a text for a schema of type `string`. */
export function makeText(schema: Readonly<Record<string, unknown>>, random: RandomSource): string {
  const { patterns, format } = schema
  const min = lengthOf(schema['minLength'], 0)
  const max = lengthOf(schema['maxLength'], MAX_TEXT)
  if (Array.isArray(patterns)) {
    const text = patternedText(patterns as string[], min, max, random)
    if (text !== undefined) return text
  }
  const make = typeof format === 'string' && Object.hasOwn(FORMATS, format) && FORMATS[format]
  if (make) return make(random)
  let text = `${pick(random, WORDS)} ${intBetween(random, 1, 999)}`
  while (text.length < min) text += ` ${pick(random, WORDS)}`
  return text.length > max ? text.slice(0, max) : text
}

/**
 * Generates a text that matches all expressions and length bounds; undefined when none is found.
 */
function patternedText(
  patterns: readonly string[],
  min: number,
  max: number,
  random: RandomSource,
): string | undefined {
  const tests = patterns.map((pattern) => compileSafeRegex(pattern, 'u'))
  let text: string | undefined
  for (let i = 0; i < TRIES; i++) {
    // Tries each expression, shortest texts first.
    const extra = i < TRIES / 4 ? EXTRA : min + 4
    text = matchingText(patterns[i % patterns.length]!, random, extra) ?? text
    if (text === undefined) continue
    const fits = (made: string): boolean =>
      made.length >= min && made.length <= max && tests.every((each) => each.test(made))
    if (fits(text)) return text
    const longer = `${text}${pick(random, WORDS).repeat(Math.max(0, Math.ceil((min - text.length) / 4)))}`
    if (text.length < min && fits(longer.slice(0, max))) return longer.slice(0, max)
  }
  return text
}

function lengthOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' && value >= 0 ? Math.min(MAX_TEXT, Math.floor(value)) : otherwise
}

function date(random: RandomSource): string {
  const two = (low: number, high: number): string => padded(intBetween(random, low, high))
  return `20${two(20, 29)}-${two(1, 12)}-${two(1, 28)}`
}

function time(random: RandomSource): string {
  return [23, 59, 59].map((most) => padded(intBetween(random, 0, most))).join(':')
}

function padded(number: number): string {
  return String(number).padStart(2, '0')
}

function hex(random: RandomSource, length: number): string {
  return Array.from({ length }, () => intBetween(random, 0, 15).toString(16)).join('')
}

const EXTRA = 4
const MAX_MATCH = 4096

/**
 * Generates a text that the expression matches; undefined when the expression is not supported.
 * Parts without an upper bound are repeated up to `extra` times beyond their lower bound.
 */
function matchingText(pattern: string, random: RandomSource, extra: number): string | undefined {
  try {
    return textOf(parseRegex(pattern), random, { left: MAX_MATCH, extra })
  } catch {
    return undefined
  }
}

interface LengthBudget {
  left: number
  readonly extra: number
}

function textOf(
  node: ReturnType<typeof parseRegex>,
  random: RandomSource,
  budget: LengthBudget,
): string {
  switch (node.kind) {
    case 'set':
      if (--budget.left < 0) throw new RangeError('the text is too long')
      return String.fromCodePoint(characterOf(node.set, random))
    case 'assert':
      return ''
    case 'sequence':
      return node.parts.map((part) => textOf(part, random, budget)).join('')
    case 'choice':
      return textOf(pick(random, node.options), random, budget)
    case 'repeat':
    default: {
      const times = intBetween(random, node.min, Math.min(node.max, node.min + budget.extra))
      return Array.from({ length: times }, () => textOf(node.node, random, budget)).join('')
    }
  }
}

/** Prefers letters and digits, which need no escaping. */
function characterOf(set: readonly number[], random: RandomSource): number {
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
