export type DamageMode = 'garbage' | 'bitflip' | 'invalid-utf8' | 'html' | 'empty'

/** Changes bytes, written as one character each; undefined where there is nothing to change. */
export type Damage = (bytes: string, random: () => number) => string | undefined

/** More garbage than this says no more. */
const MAX_GARBAGE = 64 * 1024

/** No JSON begins with any of these. */
const NO_START = '!#%&)*+,/:;<=>?@]^_`|}~'

const MOST_FLIPS = 8

/** Invalid UTF-8 of each kind: impossible, overlong, cut off, half of a surrogate pair. */
const NO_UTF8 = ['\xff\xfe', '\xc0\xaf', '\xe2\x82', '\xed\xa0\x80']

const PAGE =
  '<!doctype html><html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1><p>The server did not answer in a way that could be passed on.</p></body></html>'

/** Implements each mode. No damage adds or removes a line end, which would frame events anew. */
export const DAMAGE: Readonly<Record<DamageMode, Damage>> = {
  garbage(bytes, random) {
    const codes = Buffer.allocUnsafe(Math.min(Math.max(bytes.length, 1), MAX_GARBAGE))
    codes[0] = NO_START.charCodeAt(Math.floor(random() * NO_START.length))
    for (let i = 1; i < codes.length; i++) codes[i] = 0x21 + Math.floor(random() * 94)
    const text = codes.toString('latin1')
    return text === bytes ? `${text}~` : text
  },
  bitflip(bytes, random) {
    const codes = Buffer.from(bytes, 'latin1')
    const flipped = new Set<number>()
    const flips = 1 + Math.floor(random() * MOST_FLIPS)
    for (let n = 0; n < flips; n++) {
      const start = Math.floor(random() * codes.length * 8)
      for (let step = 0; step < codes.length * 8; step++) {
        const bit = (start + step) % (codes.length * 8)
        if (flipped.has(bit) || !flip(codes, bit)) continue
        flipped.add(bit)
        break
      }
    }
    return flipped.size === 0 ? undefined : codes.toString('latin1')
  },
  'invalid-utf8'(bytes, random) {
    const { from, to } = longestString(bytes)
    const wanted = from + Math.floor(random() * (to - from))
    let place = from
    // Not in the middle of an escape.
    while (place < wanted) place += bytes[place] !== '\\' ? 1 : bytes[place + 1] === 'u' ? 6 : 2
    const insert = NO_UTF8[Math.floor(random() * NO_UTF8.length)]!
    return bytes.slice(0, place) + insert + bytes.slice(place)
  },
  html: () => PAGE,
  empty: (bytes) => (bytes === '' ? undefined : ''),
}

/** False where an end of a line would come or go. */
function flip(codes: Uint8Array, bit: number): boolean {
  const at = bit >> 3
  const before = codes[at]!
  const after = before ^ (1 << (bit & 7))
  if (isLineEnd(before) || isLineEnd(after)) return false
  codes[at] = after
  return true
}

function isLineEnd(code: number): boolean {
  return code === 0x0a || code === 0x0d
}

interface Span {
  readonly from: number
  readonly to: number
}

/**
 * Finds the content of the longest string, which is content of the response rather than a key.
 * Finds the whole text when there are no strings.
 */
function longestString(text: string): Span {
  let longest: Span | undefined
  for (let open = text.indexOf('"'); open >= 0; open = text.indexOf('"', open + 1)) {
    const from = open + 1
    for (open = from; open < text.length && text[open] !== '"'; open++) {
      if (text[open] === '\\') open++
    }
    const to = Math.min(open, text.length)
    if (longest === undefined || to - from > longest.to - longest.from) longest = { from, to }
  }
  return longest ?? { from: 0, to: text.length }
}
