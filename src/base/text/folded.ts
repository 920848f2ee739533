/** Marks that case folding leaves behind (of a capital I with a dot), blanks, and invisible characters. */
const DROPPED = /[\p{M}\p{Z}\p{C}]/gu

/**
 * Returns the text that all spellings of a text share which some decoder takes for the same: letters
 * of another case (U+017F is an s and U+212A a k to Go), of another width, blanks.
 */
export function folded(text: string): string {
  return text.normalize('NFKC').toUpperCase().toLowerCase().replace(DROPPED, '')
}
