import {
  type JsonArray,
  type JsonObject,
  type JsonString,
  memberOf,
  type Span,
} from './json-node.ts'

/** Replaces a range of text. With `start` equal to `end` the text is inserted. */
export interface TextEdit extends Span {
  readonly text: string
}

/** Applies edits, which must be in the order of the text and must not overlap. */
export function splice(text: string, edits: readonly TextEdit[]): string {
  let result = ''
  let at = 0
  for (const { start, end, text: piece } of edits) {
    if (start < at || end < start || end > text.length) throw new RangeError('edits overlap')
    result += text.slice(at, start) + piece
    at = end
  }
  return result + text.slice(at)
}

/** Sorts edits by their range; edits with equal ranges keep their order. */
export function inOrder(edits: readonly TextEdit[]): readonly TextEdit[] {
  return edits.toSorted((a, b) => a.start - b.start || a.end - b.end)
}

/** Changes to the members or items of one object or array. */
export interface EntryChanges {
  /** Returns true for an entry that is removed, with its comma. */
  readonly removes?: (index: number) => boolean
  /** Texts of entries that follow the one at an index, if it stays. */
  readonly follows?: (index: number) => readonly string[]
  /** Texts of entries at the end. */
  readonly adds?: readonly string[]
}

/** Removes and adds members or items of an object or array, with their commas. */
export function editEntries(
  node: JsonObject | JsonArray,
  { removes, follows, adds = [] }: EntryChanges,
): readonly TextEdit[] {
  const entries: readonly Span[] = node.kind === 'object' ? node.members : node.items
  const edits: TextEdit[] = []
  let kept: Span | undefined
  for (let i = 0; i < entries.length; i++) {
    if (removes?.(i) !== true) {
      kept = entries[i]!
      const after = follows?.(i) ?? []
      if (after.length > 0) edits.push(between(kept.end, `,${after.join(',')}`))
      continue
    }
    const first = i
    while (i + 1 < entries.length && removes(i + 1)) i++
    const start = kept === undefined ? entries[first]!.start : kept.end
    const next = entries[i + 1]
    // Before the first kept entry, the following comma is removed; elsewhere the preceding one.
    const end = kept === undefined && next !== undefined ? next.start : entries[i]!.end
    edits.push({ start, end, text: '' })
  }
  if (adds.length > 0) {
    const comma = kept === undefined ? '' : ','
    const at = entries.at(-1)?.end ?? node.start + 1
    edits.push(between(at, `${comma}${adds.join(',')}`))
  }
  return edits
}

/** Sets the value of a key: in place if the object has the key, else at the end. */
export function setMember(node: JsonObject, key: string, json: string): readonly TextEdit[] {
  const member = memberOf(node, key)
  if (member !== undefined)
    return [{ start: member.value.start, end: member.value.end, text: json }]
  return editEntries(node, { adds: [memberText(key, json)] })
}

export function memberText(key: string, json: string): string {
  return `${JSON.stringify(key)}:${json}`
}

/**
 * Translates edits of a decoded string into edits of its JSON text. The rest keeps its escapes.
 * Edits must be in order.
 */
export function editsInString(
  text: string,
  node: JsonString,
  edits: readonly TextEdit[],
): readonly TextEdit[] {
  let written = node.start + 1
  let said = 0
  const seek = (to: number): number => {
    while (said < to) {
      // An escape is one decoded character, and six or two characters of text.
      const isEscape = text[written] === '\\'
      written += isEscape ? (text[written + 1] === 'u' ? 6 : 2) : 1
      said++
    }
    return written
  }
  return edits.map((edit) => {
    const start = seek(edit.start)
    const end = seek(edit.end)
    return { start, end, text: JSON.stringify(edit.text).slice(1, -1) }
  })
}

function between(at: number, text: string): TextEdit {
  return { start: at, end: at, text }
}
