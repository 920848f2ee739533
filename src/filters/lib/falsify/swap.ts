import { editsInString, type TextEdit } from '../../../base/json/json-edit.ts'
import type { JsonNode, JsonString } from '../../../base/json/json-node.ts'
import { sameJson } from '../../../base/values.ts'
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
import { type Leaf, type ResultView, rawOf } from './result-view.ts'

/** Larger results are searched for the value only as it is written, without separators. */
const MAX_SEARCHED = 16 * 1024
/** A value with more occurrences in one text is left as it is: a search for all takes seconds. */
const MAX_OCCURRENCES = 16 * 1024
/** The least characters of a text that recognise it. */
const ENOUGH_CHARS = 6

/** One value in the place of another. */
export interface Swap {
  /** True for values that would hardly occur by chance: all of them are copies. */
  readonly isDistinct: boolean
  /** None where nothing is left to recognise. */
  readonly values: readonly FalseValue[]
  /** Returns the JSON of the false value for a copy of the true one; undefined for other values. */
  readonly json: (node: JsonNode, raw: string) => string | undefined
  /** Returns the edits of a text that has the true value; undefined when it has too many. */
  readonly inText: (text: string, raw: boolean) => readonly TextEdit[] | undefined
}

/** Replaces a number, and keeps signs, separators and decimals. */
export function numberSwap(from: Decimal, to: Decimal): Swap {
  const [falseText, trueText] = [writeDecimal(to), writeDecimal(from)]
  const about = Number(trueText)
  return {
    isDistinct: isDistinctNumber(from),
    values: isDistinctNumber(to) ? [{ falseText, trueText, kind: 'number' }] : [],
    json(node, raw) {
      // Most numbers differ, and need not be read exactly.
      if (node.kind !== 'number' || Math.abs(node.value) !== about) return undefined
      const value = readDecimal(raw)
      if (value === undefined || !isSame(value, from)) return undefined
      return (raw.startsWith('-') ? '-' : '') + writeDecimal(withDecimals(to, value.decimals))
    },
    inText: (text, raw) =>
      raw ? occurrences(text, trueText, falseText) : numberEdits(text, from, to),
  }
}

/** Replaces a text; where that is not found, the part of a text that `part` maps to another one. */
export function textSwap(from: string, to: string, part: readonly string[] = []): Swap {
  return {
    isDistinct: from.length >= ENOUGH_CHARS,
    values: to.length >= ENOUGH_CHARS ? [{ falseText: to, trueText: from, kind: 'text' }] : [],
    json: (node) => (sameText(node, from) ? JSON.stringify(to) : undefined),
    inText(text) {
      const [a, b] = text.includes(from) ? [from, to] : part
      return a === undefined || b === undefined ? [] : occurrences(text, a, b)
    },
  }
}

/** Replaces `true` by `false`, or the reverse. In other texts these words may mean anything. */
export function booleanSwap(from: boolean): Swap {
  const edit = { start: 0, end: String(from).length, text: String(!from) }
  return {
    isDistinct: false,
    values: [],
    json: (node) => (node.kind === 'literal' && node.value === from ? edit.text : undefined),
    inText: (text) => (text === String(from) ? [edit] : []),
  }
}

function occurrences(text: string, from: string, to: string): readonly TextEdit[] | undefined {
  const edits: TextEdit[] = []
  let seen = 0
  for (let at = text.indexOf(from); at >= 0; at = text.indexOf(from, at + from.length)) {
    if (++seen > MAX_OCCURRENCES) return undefined
    const end = at + from.length
    const isPart = /[\p{L}\p{N}_][-.]?$/u.test(text.slice(Math.max(0, at - 2), at))
    const goesOn = /^[-.]?[\p{L}\p{N}_]/u.test(text.slice(end, end + 2))
    if (!isPart && !goesOn) edits.push({ start: at, end, text: to })
  }
  return edits
}

/**
 * Returns the edits that swap a value and all copies of it. A distinct value is the same value
 * everywhere, a short one only at the same place of each part. None where it is not certain which
 * values are copies.
 */
export function swapEdits(view: ResultView, of: Leaf | undefined, swap: Swap): readonly TextEdit[] {
  const raw = view.text.length > MAX_SEARCHED
  const found: { readonly leaf: Leaf; readonly edits: readonly TextEdit[] }[] = []
  for (const leaf of view.parts.flatMap(({ leaves }) => leaves)) {
    const edits = editsOf(leaf, swap, raw)
    if (edits === undefined) return []
    if (edits.length > 0) found.push({ leaf, edits })
  }
  const isMeant = ({ keys }: Leaf): boolean =>
    of === undefined || swap.isDistinct || sameJson(keys, of.keys)
  const copies = found.filter(({ leaf }) => isMeant(leaf))
  const others = found.filter(({ leaf }) => !isMeant(leaf))
  const known = new Set(copies.map(({ leaf }) => leaf.part))
  // A short value may stand for anything among words, and in JSON that is laid out otherwise.
  const isUnsure = ({ leaf: { node, part } }: { readonly leaf: Leaf }): boolean =>
    !known.has(part) || (node.kind === 'string' && !sameText(of!.node, node.value))
  const prose: { readonly node: JsonString; readonly edits: readonly TextEdit[] }[] = []
  for (const node of view.prose) {
    const edits = swap.inText(node.value, raw)
    if (edits === undefined) return []
    prose.push({ node, edits })
  }
  const words = prose.flatMap(({ edits }) => edits).length
  if (others.some(isUnsure)) return []
  if (!swap.isDistinct && words > 0 && others.length + words > 1) return []
  return [
    ...view.parts.flatMap((part) =>
      part.outer(
        copies
          .filter(({ leaf }) => leaf.part === part)
          .flatMap(({ edits }) => edits)
          .toSorted((a, b) => a.start - b.start),
      ),
    ),
    ...prose.flatMap(({ node, edits }) => editsInString(view.text, node, edits)),
  ]
}

function sameText(node: JsonNode, text: string): boolean {
  return node.kind === 'string' && node.value === text
}

/** Returns the edits of one value; a text may have the value among other words. */
function editsOf(leaf: Leaf, swap: Swap, raw: boolean): readonly TextEdit[] | undefined {
  const { node, part } = leaf
  const json = swap.json(node, rawOf(leaf))
  if (json !== undefined) return [{ start: node.start, end: node.end, text: json }]
  if (node.kind !== 'string') return []
  const edits = swap.inText(node.value, raw)
  return edits && editsInString(part.text, node, edits)
}
