import { plainJson } from '../../base/text/foreign-text.ts'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text as a part of HTML, in an element or in an attribute. */
export function htmlText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (marker) => ENTITIES[marker]!)
}

/** A text as a part of Markdown, in a line or in a cell of a table. */
export function markdownText(text: string): string {
  return text
    .replaceAll(/[\r\n]+/g, ' ')
    .replaceAll(/[\\`*_{}[\]#|~^$]/g, (marker) => `\\${marker}`)
    .replaceAll(/[&<>]/g, (marker) => ENTITIES[marker]!)
}

/**
 * JSON that can stand in a script element: nothing in it ends the element, is no line of a script, or
 * changes for people how its neighbours are read.
 */
export function embeddedJson(value: unknown): string {
  return plainJson(JSON.stringify(value)).replaceAll(
    /[<>&]/g,
    (marker) => `\\u00${marker.charCodeAt(0).toString(16)}`,
  )
}
