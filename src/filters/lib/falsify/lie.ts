import type { TextEdit } from '../../../base/json/json-edit.ts'
import { intBetween, pick } from '../../../base/seeded-random.ts'
import type { FalseValue } from '../../fault.ts'
import { DAY_IN_TEXT, isDate, shiftedDate } from './dates.ts'
import {
  type Decimal,
  isAmount,
  isSame,
  readDecimal,
  readingsIn,
  withDecimals,
  wrongNumbers,
} from './decimals.ts'
import { type Leaf, type ResultView, fieldOf, keyOf, rawOf } from './result-view.ts'
import { rowLie } from './rows.ts'
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
}

/** Facts that lies are made from. */
export interface LieContext {
  readonly kind: LieKind
  /** The share by which numbers differ, and the milliseconds by which dates do. */
  readonly share: number
  readonly ms: number
  /** The lists of values that the schema of the result allows in some place. */
  readonly enums: readonly (readonly unknown[])[]
  /** Returns the values of earlier results of the same tool. */
  readonly earlier: () => readonly Leaf[]
  readonly random: () => number
}

const ID = /(?:^|[_-])(?:id|uuid|guid|sku|iban|ref|reference|number)$|[a-z](?:Id|ID|Uuid|Ref)$/
const TEMPERATURE = /temp|celsius|fahrenheit/i
const FAHRENHEIT = /fahrenheit|°\s?F|_f\b/i
const MAX_TEXT = 200
const MAX_PROSE = 16 * 1024
/** The longest text that is a number with its unit, and the values of earlier results to try. */
const MAX_AMOUNT = 24
const MAX_OTHERS = 5

/** Proposes lies about a value, the most recognisable one first. */
export function liesAbout(view: ResultView, leaf: Leaf, ctx: LieContext): readonly Lie[] {
  const { kind, random } = ctx
  if (kind === 'omit' || kind === 'duplicate' || kind === 'order') {
    return [rowLie(view, leaf, kind, random) ?? []].flat()
  }
  return swapsOf(view, leaf, ctx).flatMap((swap) => swapped(view, leaf, swap))
}

/** Proposes lies about the numbers and dates of texts, for a result that has nothing else. */
export function liesInProse(view: ResultView, ctx: LieContext): readonly Lie[] {
  const { kind, share, ms, random } = ctx
  if (view.parts.length > 0) return []
  const texts = view.prose.map(({ value }) => value.slice(0, MAX_PROSE))
  const one = <T>(list: readonly T[]): readonly T[] => (list.length > 0 ? [pick(random, list)] : [])
  const swaps: Swap[] = []
  if (kind === 'number') {
    const amounts = texts.flatMap(readingsIn).filter(({ value }) => isAmount(value))
    for (const { value } of one(amounts)) swaps.push(...numberSwaps(value, share, random))
  } else if (kind === 'date') {
    const days = texts.flatMap((text) => text.match(DAY_IN_TEXT) ?? [])
    for (const day of one(days)) swaps.push(...dateSwaps(day, ms, random))
  }
  return swaps.flatMap((swap) => swapped(view, undefined, swap))
}

function swapped(view: ResultView, leaf: Leaf | undefined, swap: Swap): readonly Lie[] {
  const edits = swapEdits(view, leaf, swap) ?? []
  return edits.length === 0 ? [] : [{ edits, values: [swap.value ?? []].flat() }]
}

function swapsOf(view: ResultView, leaf: Leaf, ctx: LieContext): readonly Swap[] {
  const { kind, share, ms, random } = ctx
  const { node } = leaf
  const text = node.kind === 'string' ? node.value : undefined
  const isId = ID.test(keyOf(leaf))
  switch (kind) {
    case 'number': {
      const from = isId ? undefined : amountOf(leaf)
      return from === undefined ? [] : numberSwaps(from, share, random)
    }
    case 'unit':
      return isId ? [] : unitSwaps(leaf)
    case 'date':
      return text === undefined ? [] : dateSwaps(text, ms, random)
    case 'boolean':
      return typeof leafValue(leaf) === 'boolean' && hasNoWords(view, leaf)
        ? [booleanSwap(leafValue(leaf) as boolean)]
        : []
    case 'enum':
      return text === undefined ? [] : enumSwaps(text, ctx)
    case 'id':
      return isId ? otherSwaps(view, leaf, ctx) : []
    case 'text':
      return isId || !isName(text, ctx) ? [] : otherSwaps(view, leaf, ctx)
    case 'omit':
    case 'duplicate':
    case 'order':
    default:
      return []
  }
}

function leafValue({ node }: Leaf): unknown {
  return node.kind === 'object' || node.kind === 'array' ? undefined : node.value
}

/** Returns true where no text says in words what a boolean says. */
function hasNoWords({ prose }: ResultView, leaf: Leaf): boolean {
  return prose.every(({ value }) => value === rawOf(leaf))
}

/** Returns a number, or the only number of a short text with a unit or currency. */
function amountOf(leaf: Leaf): Decimal | undefined {
  const { node } = leaf
  if (node.kind === 'number') return readDecimal(rawOf(leaf))
  if (node.kind !== 'string' || node.value.length > MAX_AMOUNT || isDate(node.value))
    return undefined
  const [first, ...more] = readingsIn(node.value)
  return more.some(({ start }) => start !== first?.start) ? undefined : first?.value
}

function numberSwaps(from: Decimal, share: number, random: () => number): readonly Swap[] {
  return wrongNumbers(from, share, random).map((to) => numberSwap(from, to))
}

function unitSwaps(leaf: Leaf): readonly Swap[] {
  const from = amountOf(leaf)
  if (from === undefined || from.units === 0n) return []
  const { units, decimals } = from
  const raw = rawOf(leaf)
  const words = `${keyOf(leaf)} ${raw}`
  if (!TEMPERATURE.test(words) && !/°\s?[CF]/.test(words)) {
    return [numberSwap(from, { units: units * 1000n, decimals })]
  }
  // A sign could change, and stays as it is written.
  if (/["\s]?-\d/.test(raw)) return []
  const offset = 32n * 10n ** BigInt(decimals + 1)
  const tenths = FAHRENHEIT.test(words)
    ? ((units * 10n - offset) * 5n) / 9n
    : (units * 10n * 9n) / 5n + offset
  const to = withDecimals({ units: tenths, decimals: decimals + 1 }, decimals)
  return to.units <= 0n || isSame(from, to) ? [] : [numberSwap(from, to)]
}

function dateSwaps(text: string, ms: number, random: () => number): readonly Swap[] {
  if (!isDate(text)) return []
  const sign = random() < 0.5 ? 1 : -1
  return [sign * ms, -sign * ms].flatMap((by) => {
    const to = shiftedDate(text, by)
    if (to === undefined || to === text) return []
    const [day, other] = [text.slice(0, 10), to.slice(0, 10)]
    return [textSwap(text, to, text === day || day === other ? [] : [[day, other]])]
  })
}

function enumSwaps(text: string, { enums, random }: LieContext): readonly Swap[] {
  const others = enums
    .filter((values) => values.includes(text))
    .flatMap((values) => values.filter((each) => typeof each === 'string' && each !== text))
  const start = intBetween(random, 0, Math.max(0, others.length - 1))
  const turned = [...others.slice(start), ...others.slice(0, start)] as readonly string[]
  return turned.slice(0, MAX_OTHERS).map((to) => textSwap(text, to))
}

function isName(text: string | undefined, { enums }: LieContext): boolean {
  if (text === undefined || text.trim() === '' || text.length > MAX_TEXT) return false
  if (/[\r\n]/.test(text) || isDate(text)) return false
  return !enums.some((values) => values.includes(text))
}

/** Takes the value of the same field from another entity, which this result does not name. */
function otherSwaps(view: ResultView, leaf: Leaf, { earlier }: LieContext): readonly Swap[] {
  const field = fieldOf(leaf)
  const known = new Set(view.parts.flatMap(({ leaves }) => leaves.map(leafValue)))
  const others = new Map(
    earlier()
      .filter((each) => each.node.kind === leaf.node.kind && fieldOf(each) === field)
      .map((each) => [leafValue(each), each]),
  )
  return [...others.values()]
    .filter((each) => !known.has(leafValue(each)))
    .slice(0, MAX_OTHERS)
    .flatMap((other) => {
      if (leaf.node.kind === 'string') {
        return [textSwap(leaf.node.value, leafValue(other) as string)]
      }
      const [from, to] = [readDecimal(rawOf(leaf)), readDecimal(rawOf(other))]
      const isAlike = from !== undefined && to !== undefined && from.decimals === to.decimals
      return isAlike ? [numberSwap(from, to)] : []
    })
}
