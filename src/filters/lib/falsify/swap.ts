import { editsInString, type TextEdit } from '../../../base/json/json-edit.ts'
import type { JsonNode } from '../../../base/json/json-node.ts'
import type { FalseValue } from '../../fault.ts'
import {
  type Decimal,
  isDistinctNumber,
  isSame,
  numberEdits,
  readDecimal,
  withDecimals,
  writeDecimal,
} from './decimals.ts'
import { type Leaf, type ResultView, fieldOf, keyOf, rawOf } from './result-view.ts'

/** Larger results are searched for the value only as it is written, without separators. */
const MAX_SEARCHED = 16 * 1024
/** The least characters of a text that recognise it. */
const ENOUGH_CHARS = 6

/** One value in the place of another. */
export interface Swap {
  /** True for values that would hardly occur by chance: all of them are copies. */
  readonly isDistinct: boolean
  /** Undefined where nothing is left to recognise. */
  readonly value: FalseValue | undefined
  /** Returns the JSON of the false value for a copy of the true one; undefined for other values. */
  readonly json: (node: JsonNode, raw: string) => string | undefined
  /** Returns the edits of a text that has the true value. */
  readonly inText: (text: string, raw: boolean) => readonly TextEdit[]
}

/** Replaces a number, and keeps signs, separators and decimals. */
export function numberSwap(from: Decimal, to: Decimal): Swap {
  const isDistinct = isDistinctNumber(from)
  const texts = { falseText: writeDecimal(to), trueText: writeDecimal(from) }
  return {
    isDistinct,
    value: isDistinctNumber(to) ? { ...texts, kind: 'number' } : undefined,
    json(node, raw) {
      const value = node.kind === 'number' ? readDecimal(raw) : undefined
      if (value === undefined || !isSame(value, from)) return undefined
      const minus = raw.startsWith('-') ? '-' : ''
      return minus + writeDecimal(withDecimals(to, value.decimals))
    },
    inText: (text, raw) =>
      raw ? occurrences(text, texts.trueText, texts.falseText) : numberEdits(text, from, to),
  }
}

/** Replaces a text, and the parts of it that `pairs` map to parts of the false one. */
export function textSwap(from: string, to: string, pairs: readonly [string, string][] = []): Swap {
  const isDistinct = from.length >= ENOUGH_CHARS
  const isTracked = to.length >= ENOUGH_CHARS
  return {
    isDistinct,
    value: isTracked ? { falseText: to, trueText: from, kind: 'text' } : undefined,
    json: (node) =>
      node.kind === 'string' && node.value === from ? JSON.stringify(to) : undefined,
    inText(text) {
      const whole = occurrences(text, from, to)
      return [
        ...whole,
        ...pairs
          .flatMap(([a, b]) => occurrences(text, a, b))
          .filter(({ start }) => whole.every((each) => start < each.start || start >= each.end)),
      ]
    },
  }
}

/** Replaces `true` by `false`, or the reverse. In other texts these words may mean anything. */
export function booleanSwap(from: boolean): Swap {
  const raw = String(from)
  const edit = { start: 0, end: raw.length, text: String(!from) }
  return {
    isDistinct: false,
    value: undefined,
    json: (node) => (node.kind === 'literal' && node.value === from ? String(!from) : undefined),
    inText: (text) => (text === raw ? [edit] : []),
  }
}

function occurrences(text: string, from: string, to: string): readonly TextEdit[] {
  const edits: TextEdit[] = []
  for (let at = text.indexOf(from); at >= 0; at = text.indexOf(from, at + from.length)) {
    const end = at + from.length
    const isPart = /[\p{L}\p{N}_][-.]?$/u.test(text.slice(Math.max(0, at - 2), at))
    const goesOn = /^(?:[-.]?[\p{L}\p{N}_])/u.test(text.slice(end, end + 2))
    if (!isPart && !goesOn) edits.push({ start: at, end, text: to })
  }
  return edits
}

/**
 * Returns the edits that swap a value and all copies of it. A distinct value is the same value
 * everywhere, a short one only at the same place of each part. Undefined where it is not certain
 * which values are copies, or where a copy would stay.
 */
export function swapEdits(
  view: ResultView,
  leaf: Leaf | undefined,
  swap: Swap,
): readonly TextEdit[] | undefined {
  const raw = view.text.length > MAX_SEARCHED
  const found = view.parts.map(({ leaves }) =>
    leaves.flatMap((each) => {
      const edits = editsOf(each, swap, raw)
      return edits.length === 0 ? [] : [{ leaf: each, edits }]
    }),
  )
  const isMeant =
    leaf === undefined || swap.isDistinct
      ? () => true
      : placesOf(
          leaf,
          found.flat().map((each) => each.leaf),
        )
  if (isMeant === undefined) return undefined
  const edits = found.flatMap((copies) => {
    const inPart = copies.flatMap((each) => (isMeant(each.leaf) ? each.edits : []))
    return copies[0]?.leaf.part.outer(inPart.toSorted((a, b) => a.start - b.start)) ?? []
  })
  const others = found.flat().filter((each) => !isMeant(each.leaf)).length
  for (const node of view.prose) {
    const inProse = swap.inText(node.value, raw)
    if (!swap.isDistinct && inProse.length > 0 && others + inProse.length > 1) return undefined
    edits.push(...editsInString(view.text, node, inProse))
  }
  return edits
}

/**
 * Returns which of the leaves with a short value are copies of one leaf; undefined where that is not
 * certain.
 */
function placesOf(of: Leaf, leaves: readonly Leaf[]): ((leaf: Leaf) => boolean) | undefined {
  const path = pathOf(of)
  const exact = new Set(leaves.filter((each) => pathOf(each) === path).map(({ part }) => part))
  const isTwice = leaves.some(
    (each) => each.part === of.part && pathOf(each) !== path && fieldOf(each) === fieldOf(of),
  )
  const isMeant = (each: Leaf): boolean =>
    exact.has(each.part)
      ? pathOf(each) === path
      : pathOf(each).endsWith(path) || path.endsWith(pathOf(each))
  const isUncertain = (each: Leaf): boolean => {
    // A short value among other words may stand for anything.
    if (each.node.kind === 'string' && !sameText(each.node, of.node)) return true
    if (exact.has(each.part)) return false
    return isMeant(each) ? isTwice : keyOf(each) === keyOf(of)
  }
  return leaves.some(isUncertain) ? undefined : isMeant
}

function sameText(a: JsonNode, b: JsonNode): boolean {
  return a.kind === 'string' && b.kind === 'string' && a.value === b.value
}

function pathOf({ keys }: Leaf): string {
  return keys.map((key) => `\0${key}`).join('')
}

/** Returns the edits of one value; a text may have the value among other words. */
function editsOf(leaf: Leaf, swap: Swap, raw: boolean): readonly TextEdit[] {
  const { node, part } = leaf
  const json = swap.json(node, rawOf(leaf))
  if (json !== undefined) return [{ start: node.start, end: node.end, text: json }]
  if (node.kind !== 'string') return []
  return editsInString(part.text, node, swap.inText(node.value, raw))
}
