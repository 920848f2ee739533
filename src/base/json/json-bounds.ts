/** Texts up to this size are parsed unchecked: their worst case is cheap. */
export const SMALL_JSON = 16 * 1024
/** Limits the values, keys and separators of a text: each costs memory and time. */
export const MAX_JSON_PIECES = 50_000
/** Limits the nesting of values. */
export const MAX_JSON_DEPTH = 500

/** The most bytes of memory of a parsed value, key or separator. */
const PIECE = 64

/** Returns the most memory that parsing JSON of a size takes, with the text and its values. */
export function readingCost(bytes: number, pieces = Math.min(bytes, MAX_JSON_PIECES)): number {
  return bytes <= SMALL_JSON ? 0 : 3 * bytes + PIECE * pieces
}

/** Reports a text with too many values or levels. */
export class TooComplexError extends Error {
  readonly code = 'SQUALL_TOO_COMPLEX'
}

/** Parses a JSON text within the bounds; throws for other texts. */
export function parseJson(text: string): unknown {
  if (isTooComplex(text))
    throw new TooComplexError('JSON with too many values, or nested too deeply')
  return JSON.parse(text)
}

/** Returns true for a text above the bounds. */
export function isTooComplex(text: string): boolean {
  return text.length > SMALL_JSON && jsonPieces(text) > MAX_JSON_PIECES
}

/**
 * Counts the objects, arrays, members and items of a JSON text. Returns Infinity once a bound is
 * exceeded. Takes linear time, and skips strings.
 */
export function jsonPieces(text: string): number {
  let pieces = 1
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = endOfString(text, at)
        break
      case 0x7b:
      case 0x5b:
        if (++depth > MAX_JSON_DEPTH) return Infinity
        if (++pieces > MAX_JSON_PIECES) return Infinity
        break
      case 0x7d:
      case 0x5d:
        depth--
        break
      case 0x2c:
      case 0x3a:
        if (++pieces > MAX_JSON_PIECES) return Infinity
    }
  }
  return pieces
}

/** Returns the offset of the quote that ends a string, or the end of the text. */
export function endOfString(text: string, from: number): number {
  for (let at = from + 1; ;) {
    const quote = text.indexOf('"', at)
    if (quote < 0) return text.length
    let first = quote
    while (first > at && text.charCodeAt(first - 1) === 0x5c) first--
    if ((quote - first) % 2 === 0) return quote
    at = quote + 1
  }
}
