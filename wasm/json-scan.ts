// Checks in one pass that bytes are one JSON object (RFC 8259), and finds its large parts.
//
// AssemblyScript: TypeScript that is compiled to WebAssembly, with numbers of a fixed size and
// direct access to memory. docs/contributing/json-scan.md explains how it is used and changed.
//
// Each function that ends in `End` gets the offset of something, and returns the offset behind it,
// or INVALID. Zeros follow the text: a zero is valid nowhere, so that no function needs to know
// where the text ends.

const INVALID: i32 = 0
/** Reports values of more bytes in an object that is a member of the outermost one. */
const LARGE: i32 = 256
/** Further parts are not reported. */
const MAX_PARTS: i32 = 32

/** Holds the parts: six offsets each. */
const PARTS: i32 = 1024
const PART_SIZE: i32 = 24
/** Holds the text. */
const TEXT: i32 = 4096

const QUOTE: u8 = 0x22
const COMMA: u8 = 0x2c
const MINUS: u8 = 0x2d
const POINT: u8 = 0x2e
const ZERO: u8 = 0x30
const COLON: u8 = 0x3a
const OPEN_ARRAY: u8 = 0x5b
const BACKSLASH: u8 = 0x5c
const CLOSE_ARRAY: u8 = 0x5d
const OPEN_OBJECT: u8 = 0x7b
const CLOSE_OBJECT: u8 = 0x7d

const ODD_BITS: u32 = 0xaaaaaaaa
/**
 * Find the letters of short escapes, quote, slash, backslash and `bfnrt`, by both halves of a byte:
 * the tables have a bit in common for each of them. Its high halves are 2, 5, 6 and 7.
 */
// prettier-ignore
const ESCAPES_BY_LOW: v128 = i8x16(0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1)
// prettier-ignore
const ESCAPES_BY_HIGH: v128 = i8x16(0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0)

/** The keys in all objects, the parts, and the pieces that the bounds still allow. */
let keys: i32 = 0
let parts: i32 = 0
let piecesLeft: i32 = 0
let maxDepth: i32 = 0
/** The offsets of the open member of the outermost object: its key, with quotes. */
let outerFrom: i32 = 0
let outerTo: i32 = 0

/** Returns the number of keys of the last text. */
export function keyCount(): i32 {
  return keys
}

/** Returns the number of parts of the last text. */
export function partCount(): i32 {
  return parts
}

/**
 * Returns true for a text of `size` bytes that is one JSON object with at most `pieces` containers,
 * commas and colons, nested at most `depth` times. Does not check the UTF-8 in strings.
 */
export function scan(size: i32, pieces: i32, depth: i32): bool {
  const end = TEXT + size
  // One block that the loop over blocks may load, and one character behind it.
  v128.store(end, i8x16.splat(0))
  store<u64>(end + 16, 0)
  keys = 0
  parts = 0
  piecesLeft = pieces - 1
  maxDepth = depth
  const from = blankEnd(TEXT)
  if (load<u8>(from) != OPEN_OBJECT) return false
  const to = objectEnd(from, 1)
  return to != INVALID && blankEnd(to) == end
}

function valueEnd(at: i32, depth: i32): i32 {
  const first = load<u8>(at)
  if (first == QUOTE) return stringEnd(at)
  if (first == OPEN_OBJECT) return objectEnd(at, depth + 1)
  if (first == OPEN_ARRAY) return arrayEnd(at, depth + 1)
  if (first == MINUS || isDigit(first)) return numberEnd(at)
  return literalEnd(at)
}

function objectEnd(at: i32, depth: i32): i32 {
  if (depth > maxDepth || --piecesLeft < 0) return INVALID
  at = blankEnd(at + 1)
  if (load<u8>(at) == CLOSE_OBJECT) return at + 1
  while (true) {
    const keyFrom = at
    if (load<u8>(at) != QUOTE) return INVALID
    const keyTo = stringEnd(at)
    if (keyTo == INVALID) return INVALID
    at = blankEnd(keyTo)
    if (load<u8>(at) != COLON || --piecesLeft < 0) return INVALID
    keys++
    if (depth == 1) {
      outerFrom = keyFrom
      outerTo = keyTo
    }
    const from = blankEnd(at + 1)
    at = valueEnd(from, depth)
    if (at == INVALID) return INVALID
    if (depth == 2 && at - from > LARGE) report(keyFrom, keyTo, from, at)
    at = blankEnd(at)
    const next = load<u8>(at)
    if (next == CLOSE_OBJECT) return at + 1
    if (next != COMMA || --piecesLeft < 0) return INVALID
    at = blankEnd(at + 1)
  }
}

function arrayEnd(at: i32, depth: i32): i32 {
  if (depth > maxDepth || --piecesLeft < 0) return INVALID
  at = blankEnd(at + 1)
  if (load<u8>(at) == CLOSE_ARRAY) return at + 1
  while (true) {
    at = valueEnd(at, depth)
    if (at == INVALID) return INVALID
    at = blankEnd(at)
    const next = load<u8>(at)
    if (next == CLOSE_ARRAY) return at + 1
    if (next != COMMA || --piecesLeft < 0) return INVALID
    at = blankEnd(at + 1)
  }
}

/** Reads sixteen bytes at a time. A bit of a mask is set for a byte of the block. */
function stringEnd(at: i32): i32 {
  at++
  /** 1 when the last block ends in a backslash that escapes the first byte of this one. */
  let carry: u32 = 0
  while (true) {
    const block = v128.load(at)
    const backslashes = maskOf(i8x16.eq(block, i8x16.splat(BACKSLASH)))
    const controls = maskOf(i8x16.lt_u(block, i8x16.splat(0x20)))
    let quotes = maskOf(i8x16.eq(block, i8x16.splat(QUOTE)))
    let escaped: u32 = 0
    if ((backslashes | carry) != 0) {
      escaped = escapedBy(backslashes, carry)
      carry = escaped >> 16
      quotes &= ~escaped
    }
    /** The bytes before the quote that ends the string. */
    const inside = (quotes & -quotes) - 1
    if ((controls & inside) != 0) return INVALID
    if ((escaped & inside & 0xffff) != 0 && !areEscapes(at, block, escaped & inside & 0xffff)) {
      return INVALID
    }
    if (quotes != 0) return at + ctz(quotes) + 1
    at += 16
  }
}

function maskOf(bytes: v128): u32 {
  return u32(i8x16.bitmask(bytes))
}

/**
 * Returns the bytes behind a backslash that is not escaped itself; bit 16 is the first byte of the
 * next block. A run of backslashes escapes every second byte: subtracting a run's start from the
 * odd bits carries through the run.
 */
function escapedBy(backslashes: u32, carry: u32): u32 {
  const starts = backslashes & ~carry
  const ends = (((starts << 1) | ODD_BITS) - starts) ^ ODD_BITS
  return ((ends ^ (backslashes | carry)) & 0xffff) | ((((ends & backslashes) >> 15) & 1) << 16)
}

/** Returns true when the escaped bytes of a block are valid behind a backslash. */
function areEscapes(at: i32, block: v128, escaped: u32): bool {
  const low = i8x16.swizzle(ESCAPES_BY_LOW, v128.and(block, i8x16.splat(15)))
  const high = i8x16.swizzle(ESCAPES_BY_HIGH, i8x16.shr_u(block, 4))
  let others = escaped & maskOf(i8x16.eq(v128.and(low, high), i8x16.splat(0)))
  for (; others != 0; others &= others - 1) {
    const letter = at + ctz(others)
    if (load<u8>(letter) != 0x75 /* u */) return false
    for (let hex = letter + 1; hex <= letter + 4; hex++) if (!isHex(load<u8>(hex))) return false
  }
  return true
}

function numberEnd(at: i32): i32 {
  if (load<u8>(at) == MINUS) at++
  // Nothing but zero begins with a zero.
  at = load<u8>(at) == ZERO ? at + 1 : digitsEnd(at)
  if (at == INVALID) return INVALID
  if (load<u8>(at) == POINT) {
    at = digitsEnd(at + 1)
    if (at == INVALID) return INVALID
  }
  const letter = load<u8>(at) | 0x20
  if (letter != 0x65) return at
  const sign = load<u8>(at + 1)
  return digitsEnd(sign == MINUS || sign == 0x2b ? at + 2 : at + 1)
}

function digitsEnd(at: i32): i32 {
  if (!isDigit(load<u8>(at))) return INVALID
  do at++
  while (isDigit(load<u8>(at)))
  return at
}

/** The four letters of each, read as one number. */
function literalEnd(at: i32): i32 {
  const letters = load<u32>(at)
  if (letters == 0x65757274 /* true */ || letters == 0x6c6c756e /* null */) return at + 4
  if (letters == 0x736c6166 /* fals */ && load<u8>(at + 4) == 0x65) return at + 5
  return INVALID
}

function blankEnd(at: i32): i32 {
  let byte = load<u8>(at)
  while (byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09) byte = load<u8>(++at)
  return at
}

function isDigit(byte: u8): bool {
  return u32(byte) - 0x30 <= 9
}

function isHex(byte: u8): bool {
  return isDigit(byte) || (u32(byte) | 0x20) - 0x61 <= 5
}

/** Keeps the offsets of a part in the text, with those of its key and of the key around it. */
function report(keyFrom: i32, keyTo: i32, from: i32, to: i32): void {
  if (parts == MAX_PARTS) return
  const at = PARTS + parts * PART_SIZE
  store<i32>(at, outerFrom - TEXT)
  store<i32>(at, outerTo - TEXT, 4)
  store<i32>(at, keyFrom - TEXT, 8)
  store<i32>(at, keyTo - TEXT, 12)
  store<i32>(at, from - TEXT, 16)
  store<i32>(at, to - TEXT, 20)
  parts++
}
