/** Controls, invisible characters, changes of direction, ends of lines, halves of a character. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu
const PLAIN = /^[\u0020-\u007e]*$/
const MARKS = /\p{M}/gu
const BREAKS = /[^\S ]+/g

/**
 * Returns the text with escapes for characters that control a terminal, end a line, or change the
 * meaning of their neighbours.
 */
export function plain(text: string): string {
  return replaceUnseen(text, spelledOut)
}

/** Returns the text with each of its lines plain. */
export function plainText(text: string): string {
  return text.split('\n').map(plain).join('\n')
}

/** Returns JSON with the same value, in which every such character is escaped. */
export function plainJson(json: string): string {
  return replaceUnseen(json, (marker) =>
    marker.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

/** Returns the text with each such character replaced. */
export function replaceUnseen(text: string, by: (marker: string) => string): string {
  return PLAIN.test(text) ? text : text.replace(UNSEEN, by)
}

/** Returns true for a text with a character that `plain` escapes. */
export function hasUnseen(text: string): boolean {
  return !PLAIN.test(text) && text.search(UNSEEN) >= 0
}

/** Returns the text, cut with an ellipsis when it is longer than `most`. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}

/** Returns a value for a table or a sentence: cut, and plain. */
export function foreign(text: string, most = 120): string {
  return plain(shortened(text, most))
}

/** Returns such a value for a column: combining marks are escaped as well. */
export function foreignCell(text: string, most?: number): string {
  return foreign(text, most).replace(MARKS, spelledOut)
}

/**
 * Returns a message on one line, with spaces for its line breaks: plain, and never longer than
 * `most`.
 */
export function oneLine(text: string, most = 500): string {
  const line = plain(text.replace(BREAKS, ' ').trim())
  return line.length > most ? `${line.slice(0, most - 1)}…` : line
}

/** Returns a value in quotes: cut, and plain. */
export function quoted(text: string, most = 80): string {
  return plain(JSON.stringify(shortened(text, most)))
}

function spelledOut(marker: string): string {
  return `\\u{${marker.codePointAt(0)!.toString(16)}}`
}
