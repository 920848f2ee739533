import { isGlob, matchesGlob } from '../../../base/glob.ts'
import { type TextEdit, inOrder, splice } from '../../../base/json/json-edit.ts'
import { parsePointer, pointerTo } from '../../../base/json/json-pointer.ts'
import { pick } from '../../../base/seeded-random.ts'
import type { FalseValue } from '../../fault.ts'
import { DAY_IN_TEXT, shiftedDate } from './dates.ts'
import {
  type Decimal,
  type ReadNumber,
  isSame,
  readDecimal,
  readingsIn,
  withDecimals,
  wrongNumbers,
} from './decimals.ts'
import { type Leaf, type ResultView, keyOf, rawOf } from './result-view.ts'
import { type RowKind, rowEdits } from './rows.ts'
import { enumsIn, stillFits } from './schema-fit.ts'
import { type Swap, booleanSwap, numberSwap, swapEdits, textSwap } from './swap.ts'

/** The kinds of lies about one value or list of a result. */
export const LIE_KINDS = [
  ...(['number', 'date', 'boolean', 'enum', 'id', 'text'] as const),
  ...(['omit', 'duplicate', 'order', 'unit'] as const),
] as const

export type LieKind = (typeof LIE_KINDS)[number]

/** A change that makes a result say something else, everywhere alike. */
export interface Lie {
  readonly edits: readonly TextEdit[]
  /** The false values that can be recognised. */
  readonly values: readonly FalseValue[]
  /** The value in the first part of the result; undefined for a result of words alone. */
  readonly leaf: Leaf | undefined
}

/** Facts that lies are made from. */
export interface LieContext {
  /** The share by which numbers differ, and the milliseconds by which dates do. */
  readonly share: number
  readonly ms: number
  /** JSON Pointers and globs of keys; undefined for all values that carry meaning. */
  readonly at: readonly string[] | undefined
  /** The schema of structured content; undefined when it is not known. */
  readonly schema: unknown
  /** Returns the values of earlier results of the same tool, by field. */
  readonly earlier: () => ReadonlyMap<string, readonly Leaf[]>
  /** The pointers and the JSON of false values, and true values that must not come back. */
  readonly used: ReadonlySet<string>
  readonly random: () => number
  readonly nextLoop: () => Promise<void>
}

const ID = /(?:^|[_-])(?:id|uuid|guid|sku|iban|ref|reference|number)$|[a-z](?:Id|ID|Uuid|Ref)$/
const TEMPERATURE = /temp|celsius|fahrenheit|°\s?[CF]/i
const FAHRENHEIT = /fahrenheit|°\s?F|_f\b/i
/** Keys of values that carry no meaning for the caller. */
const ENVELOPE =
  /cursor|token|etag|trace|span|checksum|hash|^_|request_?id$|^(?:page|limit|offset|version|timestamp|status_?code)$|(?:created|updated|fetched|generated|expires)_?at$/i
const MAX_TEXT = 200
/** The longest text that is a number with its unit, and the longest part of one that is read. */
const MAX_AMOUNT = 24
const MAX_PROSE = 16 * 1024
/** The values of which all copies are looked for, and the other values that are tried for each. */
const MAX_TRIES = 10
const MAX_OTHERS = 5
/** The values that are looked at in one turn of the event loop. */
const LEAVES_IN_TURN = 500

/** Finds a lie of one kind that leaves the result valid. */
export async function findLie(
  kind: LieKind,
  view: ResultView,
  ctx: LieContext,
): Promise<Lie | undefined> {
  const { structured, parts, text } = view
  const { at, used, schema } = ctx
  const isMeant = at === undefined ? hasMeaning : placesIn(at)
  const before: unknown =
    structured && JSON.parse(rawOf({ node: structured.node, part: structured }))
  const stands = (lie: Lie): boolean =>
    !lie.values.some(({ falseText }) => used.has(falseText)) &&
    (schema === undefined || !structured || stillFits(schema, changed(view, lie), before))
  const isUsed = (leaf: Leaf): boolean => used.has(pointerTo(leaf.keys)) || used.has(rawOf(leaf))
  const known = new Set(parts.flatMap(({ leaves }) => leaves.map(valueIn)))
  const facts = { ...ctx, enums: enumsIn(schema), known }
  let tries = 0
  let seen = 0
  for (const leaf of shuffled(parts[0]?.leaves ?? [], ctx.random)) {
    if (++seen % LEAVES_IN_TURN === 0) await ctx.nextLoop()
    if (!isMeant(leaf) || isUsed(leaf)) continue
    const attempts = attemptsAt(kind, view, leaf, facts)
    for (const attempt of attempts) {
      const lie = attempt()
      if (lie !== undefined && stands(lie)) return lie
      if (text.length > MAX_PROSE) await ctx.nextLoop()
    }
    if (attempts.length > 0 && ++tries >= MAX_TRIES) return undefined
  }
  if (at !== undefined || parts.length > 0) return undefined
  for (const swap of proseSwaps(kind, view, ctx)) {
    const lie = lieOf(view, undefined, swap)
    if (lie !== undefined) return lie
    await ctx.nextLoop()
  }
  return undefined
}

/** Returns the items in an order that the seed determines. */
export function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  const places = items.map((item) => ({ item, place: random() }))
  return places.toSorted((a, b) => a.place - b.place).map(({ item }) => item)
}

/** Returns the structured content with a lie. */
function changed({ text, structured }: ResultView, { edits }: Lie): unknown {
  const { start, end } = structured!.node
  const inside = edits.filter((edit) => edit.start >= start && edit.end <= end)
  const moved = inside.map((edit) => ({
    ...edit,
    start: edit.start - start,
    end: edit.end - start,
  }))
  return JSON.parse(splice(text.slice(start, end), inOrder(moved)))
}

function hasMeaning({ keys }: Leaf): boolean {
  return !keys.some((key) => ENVELOPE.test(key))
}

function placesIn(at: readonly string[]): (leaf: Leaf) => boolean {
  const pointers = at.flatMap((each) => (each.startsWith('/') ? [parsePointer(each)!] : []))
  const isThere = (pointer: readonly string[], keys: readonly string[]): boolean =>
    pointer.length === keys.length && pointer.every((key, i) => key === '*' || key === keys[i])
  return (leaf) => {
    const key = keyOf(leaf)
    const isNamed = (each: string): boolean =>
      isGlob(each) ? matchesGlob(each, key) : each === key
    return at.some(isNamed) || pointers.some((each) => isThere(each, leaf.keys))
  }
}

function lieOf(view: ResultView, leaf: Leaf | undefined, swap: Swap): Lie | undefined {
  const edits = swapEdits(view, leaf, swap)
  return edits.length === 0 ? undefined : { edits, values: swap.values, leaf }
}

interface Facts extends LieContext {
  readonly enums: readonly (readonly unknown[])[]
  /** The values of the result. */
  readonly known: ReadonlySet<unknown>
}
type Attempt = () => Lie | undefined

/** Returns what may make a lie of a value, the most recognisable one first: each takes its time. */
function attemptsAt(kind: LieKind, view: ResultView, leaf: Leaf, facts: Facts): readonly Attempt[] {
  if (kind !== 'omit' && kind !== 'duplicate' && kind !== 'order') {
    return swapsOf(kind, view, leaf, facts).map((swap) => () => lieOf(view, leaf, swap))
  }
  if (leaf.node.kind !== 'array') return []
  const inRows = (): Lie | undefined => {
    const edits = rowEdits(view, leaf, kind, facts.random)
    return edits.length === 0 ? undefined : { edits, values: [], leaf }
  }
  return [inRows]
}

function swapsOf(
  kind: Exclude<LieKind, RowKind>,
  view: ResultView,
  leaf: Leaf,
  facts: Facts,
): readonly Swap[] {
  const { share, ms, enums, random } = facts
  const value = valueIn(leaf)
  const isId = ID.test(keyOf(leaf))
  if (kind === 'boolean') {
    const isAlone = view.prose.every((text) => text.value === String(value))
    return typeof value === 'boolean' && isAlone ? [booleanSwap(value)] : []
  }
  if (kind === 'number' || kind === 'unit') {
    const from = isId ? undefined : amountOf(leaf)
    if (from === undefined) return []
    return kind === 'unit' ? unitSwaps(leaf, from) : numberSwaps(from, share, random)
  }
  if (kind === 'id') return isId ? otherSwaps(leaf, facts) : []
  if (typeof value !== 'string') return []
  if (kind === 'date') return dateSwaps(value, ms, random)
  const allowed = enums.filter((values) => values.includes(value)).flat()
  if (kind === 'enum') {
    const texts = allowed.filter((each) => typeof each === 'string' && each !== value)
    return shuffled(texts as string[], random)
      .slice(0, MAX_OTHERS)
      .map((to) => textSwap(value, to))
  }
  const isName = !isId && allowed.length === 0 && value.length <= MAX_TEXT && /^.*\S.*$/.test(value)
  return isName && shiftedDate(value, 0) !== value ? otherSwaps(leaf, facts) : []
}

/** Proposes other numbers or dates for a result of words alone. */
function proseSwaps(kind: LieKind, view: ResultView, ctx: LieContext): readonly Swap[] {
  const texts = view.prose.map(({ value }) => value.slice(0, MAX_PROSE))
  if (kind === 'number') {
    const amounts = texts.flatMap(readingsIn).filter(isAmount)
    return amounts.length === 0
      ? []
      : numberSwaps(pick(ctx.random, amounts).value, ctx.share, ctx.random)
  }
  const days = kind === 'date' ? texts.flatMap((text) => text.match(DAY_IN_TEXT) ?? []) : []
  return days.length === 0 ? [] : dateSwaps(pick(ctx.random, days), ctx.ms, ctx.random)
}

/** Returns true for a number that is neither a year nor as short as an index. */
function isAmount({ value: { units, decimals } }: ReadNumber): boolean {
  return decimals > 0 || (units >= 10n && (units < 1900n || units > 2100n))
}

function valueIn({ node }: Leaf): unknown {
  return node.kind === 'object' || node.kind === 'array' ? undefined : node.value
}

/** Returns a number, or the only number of a short text with a unit or currency. */
function amountOf(leaf: Leaf): Decimal | undefined {
  const { node } = leaf
  if (node.kind === 'number') return readDecimal(rawOf(leaf))
  if (node.kind !== 'string' || node.value.length > MAX_AMOUNT) return undefined
  const [first, ...more] = readingsIn(node.value)
  return more.some(({ start }) => start !== first?.start) ? undefined : first?.value
}

function numberSwaps(from: Decimal, share: number, random: () => number): readonly Swap[] {
  return wrongNumbers(from, share, random).map((to) => numberSwap(from, to))
}

function unitSwaps(leaf: Leaf, from: Decimal): readonly Swap[] {
  const { units, decimals } = from
  const words = `${keyOf(leaf)} ${rawOf(leaf)}`
  const freezing = 320n * 10n ** BigInt(decimals)
  const tenths = FAHRENHEIT.test(words)
    ? ((units * 10n - freezing) * 5n) / 9n
    : units * 18n + freezing
  const isWarm = TEMPERATURE.test(words)
  const to = isWarm
    ? withDecimals({ units: tenths, decimals: decimals + 1 }, decimals)
    : { units: units * 1000n, decimals }
  // The sign of a temperature could change, and stays as it is written.
  const isSigned = isWarm && / "?-/.test(words)
  return isSigned || to.units <= 0n || isSame(from, to) ? [] : [numberSwap(from, to)]
}

function dateSwaps(text: string, ms: number, random: () => number): readonly Swap[] {
  if (shiftedDate(text, 0) !== text) return []
  return shuffled([ms, -ms], random).flatMap((by) => {
    const to = shiftedDate(text, by)
    if (to === undefined || to === text) return []
    const days = [text.slice(0, 10), to.slice(0, 10)]
    return [textSwap(text, to, days[0] === days[1] ? [] : days)]
  })
}

/** Takes the value of the same field from another entity, which this result does not name. */
function otherSwaps(leaf: Leaf, { earlier, known }: Facts): readonly Swap[] {
  const value = valueIn(leaf)
  const others = (earlier().get(fieldOf(leaf)) ?? []).filter(
    (each) => typeof valueIn(each) === typeof value,
  )
  const values = [...new Map(others.map((each) => [valueIn(each), each])).values()]
  return values
    .filter((each) => !known.has(valueIn(each)))
    .slice(0, MAX_OTHERS)
    .flatMap((each) => {
      if (typeof value === 'string') return [textSwap(value, valueIn(each) as string)]
      const [from, to] = [leaf, each].map((one) => readDecimal(rawOf(one)))
      return from && to && from.decimals === to.decimals ? [numberSwap(from, to)] : []
    })
}

/** Returns the place of a value, the same for all items of a list. */
export function fieldOf({ keys }: Leaf): string {
  return keys.map((key) => (/^\d+$/.test(key) ? '*' : key)).join('\0')
}
