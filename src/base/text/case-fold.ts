/**
 * Combining marks that case folding leaves (of a capital I with a dot), blanks, and invisible
 * characters.
 */
const DROPPED = /[\p{M}\p{Z}\p{C}]/gu

/**
 * Returns one form for all spellings of a text that some decoder treats as equal: letters of
 * another case (U+017F is an s and U+212A a k to Go) or width, and blanks.
 */
export function caseFolded(text: string): string {
  return text.normalize('NFKC').toUpperCase().toLowerCase().replace(DROPPED, '')
}
