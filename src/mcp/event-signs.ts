const QUOTE = 0x22
const LF = 10
const CR = 13

/**
 * Where whole events first show a sign, from a place on, that one of them may be a response, or, if
 * `ids` are looked for, may have an id; Infinity where none does. The text is that of their bytes,
 * each a character. Most events of a stream are notifications: what has no sign need not be read.
 *
 * A response names the id of its call, so that it has the member `id`, spelt out or by the numbers of
 * its letters. An event's own id stands at the beginning of a line.
 */
export function signIn(text: string, from: number, ids: boolean): number {
  const name = nameIn(text, from, ids)
  const number = text.indexOf(BY_NUMBER, from)
  return number < 0 ? name : Math.min(name, number)
}

const ID = 'id'
/** What the numbers of both letters begin with. */
const BY_NUMBER = '\\u006'

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
