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
