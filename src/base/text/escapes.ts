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

/** Returns a word as a shell reads it back. */
export function shellWord(word: string): string {
  return /^[\w./:=@%+,{}-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** Returns a URL without the parts that may be secret: user, password, query and fragment. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`
}
