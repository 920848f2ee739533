import { editEntries, editsInString, type TextEdit } from '../../../base/json/json-edit.ts'
import {
  find,
  type JsonArray,
  type JsonNode,
  type JsonString,
} from '../../../base/json/json-node.ts'
import { partIn, structuredPart, textBound, textsOf, type JsonPart } from './json-part.ts'

/** The characters of each text, the items of each list, or the share that remains. */
export interface Remainder {
  readonly chars?: number
  readonly items?: number
  readonly percent?: number
}

/** The lists that results are made of. */
const LISTS = [
  ['content'],
  ['contents'],
  ['messages'],
  ['tools'],
  ['prompts'],
  ['resources'],
  ['resourceTemplates'],
  ['tasks'],
  ['completion', 'values'],
] as const

/**
 * Returns the edits that shorten a result. JSON within a text is shortened like structured content,
 * so that both stay equal and valid; other text is cut.
 */
export function shorten(text: string, result: JsonNode, keep: Remainder): readonly TextEdit[] {
  const lists = LISTS.flatMap((keys) => find(result, keys))
    .filter((node) => node.kind === 'array')
    .flatMap((list) => shortenList(list, keep))
  const parts: JsonPart[] = [...structuredPart(text, result)]
  const left = textBound()
  const texts: TextEdit[] = []
  // A share is taken once: of the list where that comes to anything, else of the texts in it.
  const cutsTexts = keep.chars !== undefined || (keep.percent !== undefined && lists.length === 0)
  for (const node of textsOf(result)) {
    const part = partIn(text, node, left)
    if (part !== undefined) parts.push(part)
    else if (cutsTexts) texts.push(...cutString(text, node, keep))
  }
  return withoutNested([
    ...lists,
    ...texts,
    ...parts.flatMap((part) => part.outer(shortenPart(part, keep))),
  ])
}

function shortenPart({ text, node }: JsonPart, keep: Remainder): readonly TextEdit[] {
  const edits: TextEdit[] = []
  const visit = (at: JsonNode): void => {
    if (at.kind === 'string') {
      if (keep.chars !== undefined) edits.push(...cutString(text, at, keep))
    } else if (at.kind === 'object') {
      for (const { value } of at.members) visit(value)
    } else if (at.kind === 'array') {
      edits.push(...shortenList(at, keep))
      for (const item of at.items) visit(item)
    }
  }
  visit(node)
  return withoutNested(edits)
}

function shortenList(list: JsonArray, { items, percent }: Remainder): readonly TextEdit[] {
  const { length } = list.items
  // Half of a list of one is one item: only `items: 0` and `percent: 0` empty a list.
  const stay = items ?? (percent === undefined ? length : Math.ceil((length * percent) / 100))
  return stay >= length ? [] : editEntries(list, { removes: (index) => index >= stay })
}

/** Counts what a reader takes for characters: a pair of surrogates is one, and is never parted. */
function cutString(
  text: string,
  node: JsonString,
  { chars, percent }: Remainder,
): readonly TextEdit[] {
  const { value } = node
  const stay = chars ?? Math.floor((lengthOf(value) * percent!) / 100)
  let end = 0
  for (let n = 0; n < stay && end < value.length; n++) end += widthAt(value, end)
  if (end >= value.length) return []
  return editsInString(text, node, [{ start: end, end: value.length, text: '' }])
}

function lengthOf(value: string): number {
  let length = 0
  for (let at = 0; at < value.length; at += widthAt(value, at)) length++
  return length
}

function widthAt(value: string, at: number): number {
  return value.codePointAt(at)! > 0xffff ? 2 : 1
}

/** In order, and without edits of what another one takes out. */
function withoutNested(edits: readonly TextEdit[]): readonly TextEdit[] {
  let end = 0
  return edits
    .toSorted((a, b) => a.start - b.start || b.end - a.end)
    .filter((edit) => {
      if (edit.start < end) return false
      end = edit.end
      return true
    })
}
