import { plainJson } from '#base'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text for an HTML element or attribute. */
export function htmlText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)
}

/** Escapes a text for a line or a table cell of Markdown. */
export function markdownText(text: string): string {
  return text
    .replaceAll(/[\r\n]+/g, ' ')
    .replaceAll(/[\\`*_{}[\]#|~^$]/g, (character) => `\\${character}`)
    .replaceAll(/[&<>]/g, (character) => ENTITIES[character]!)
}

/**
 * Serializes JSON for a script element: no end tag, no line separators, no bidirectional controls.
 */
export function embeddedJson(value: unknown): string {
  return plainJson(JSON.stringify(value)).replaceAll(
    /[<>&]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  )
}
