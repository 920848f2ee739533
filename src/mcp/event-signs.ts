const QUOTE = 0x22
const LF = 10
const CR = 13

/**
 * Returns the offset of the first sign, from `from` on, that one of the events may be a response
 * or, with `ids`, may have an id; Infinity without a sign. `text` is the latin1 text of whole
 * events. Most events are notifications, which need not be read.
 *
 * A response has the member `id`, plain or escaped. The id of an event is at the beginning of a
 * line.
 */
export function signIn(text: string, from: number, ids: boolean): number {
  const name = nameIn(text, from, ids)
  const escaped = text.indexOf(ESCAPED, from)
  return escaped < 0 ? name : Math.min(name, escaped)
}

const ID = 'id'
/** The start of both letters when escaped. */
const ESCAPED = '\\u006'

function nameIn(text: string, from: number, ids: boolean): number {
  for (let at = text.indexOf(ID, from); at >= 0; at = text.indexOf(ID, at + 1)) {
    if (text.charCodeAt(at + 2) === QUOTE || (ids && beginsLine(text, at))) return at
  }
  return Infinity
}

function beginsLine(text: string, at: number): boolean {
  if (at === 0) return true
  const before = text.charCodeAt(at - 1)
  return before === LF || before === CR
}
