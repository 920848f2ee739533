/** Texts up to this size are parsed without being looked through: at their worst they cost little. */
export const SMALL_JSON = 16 * 1024
/** Texts with more values, keys and separators than this are not parsed: each costs room and time. */
export const MAX_JSON_PIECES = 50_000
/** Values nested deeper than this are not parsed. */
export const MAX_JSON_DEPTH = 500

/** Characters of a string that are read one by one before the next quote is searched for. */
const NEAR = 64
/** Most bytes that a value, a key or a separator takes once it is parsed. */
const PIECE = 64

/** Returns what reading so many bytes as JSON takes at most: the text, what is parsed of it, and its values. */
export function readingCost(bytes: number): number {
  return bytes <= SMALL_JSON ? 0 : 3 * bytes + PIECE * Math.min(bytes, MAX_JSON_PIECES)
}

/** A text has more values or is nested deeper than Squall reads. */
export class TooComplexError extends Error {
  readonly code = 'SQUALL_TOO_COMPLEX'
}

/** Parses a JSON text whose structure is within the bounds; throws for any other text. */
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
 * Counts what takes room in a JSON text: objects, arrays, members and items. Returns Infinity as soon
 * as a bound is exceeded. Linear, and jumps over strings.
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

/**
 * Returns the place of the quote that ends a string, or the end of a text that does not end it. Looks at
 * some characters one by one before each search: escaped quotes may stand close together.
 */
function endOfString(text: string, from: number): number {
  const { length } = text
  for (let at = from + 1; at < length; at++) {
    for (const near = at + NEAR; at < near && at < length; at++) {
      const code = text.charCodeAt(at)
      if (code === 0x22) return at
      if (code === 0x5c) at++
    }
    const start = at
    at = text.indexOf('"', start)
    if (at < 0) return length
    let escapes = at
    while (escapes > start && text.charCodeAt(escapes - 1) === 0x5c) escapes--
    if ((at - escapes) % 2 === 0) return at
  }
  return length
}
