const MAX_TEXT = 120
// Marks that have no shape of their own could change how their neighbours are read.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text that somebody else wrote: cut, and with everything unseen made visible. */
export function foreign(text: string, most = MAX_TEXT): string {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text
  return cut.replaceAll(UNSEEN, (mark) => `\\u{${mark.codePointAt(0)!.toString(16)}}`)
}

/** A text as a part of HTML, in an element or in an attribute. */
export function htmlText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (mark) => ENTITIES[mark]!)
}

/** A text as a part of Markdown, in a line or in a cell of a table. */
export function markdownText(text: string): string {
  return text
    .replaceAll(/[\r\n]+/g, ' ')
    .replaceAll(/[\\`*_{}[\]#|~^$]/g, (mark) => `\\${mark}`)
    .replaceAll(/[&<>]/g, (mark) => ENTITIES[mark]!)
}

/**
 * JSON that can stand in a script element: nothing in it ends the element, is no line of a script, or
 * changes for people how its neighbours are read.
 */
export function embeddedJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(/[<>&\u2028\u2029\u007f-\u009f]|\p{Cf}/gu, (mark) =>
    Array.from({ length: mark.length }, (_, i) => escaped(mark.charCodeAt(i))).join(''),
  )
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
