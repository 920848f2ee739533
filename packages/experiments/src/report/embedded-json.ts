import { plainJson } from '#base'

/**
 * Serializes JSON for a script element: no end tag, no line separators, no bidirectional controls.
 */
export function embeddedJson(value: unknown): string {
  return plainJson(JSON.stringify(value)).replaceAll(
    /[<>&]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  )
}
