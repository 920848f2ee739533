// Checks in one pass that bytes are one JSON object (RFC 8259), finds its large parts, and compares
// its keys. Hashes bytes.
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
/** Holds the hashes of the keys of open objects. Further keys are not compared. */
const HASHES: i32 = 2048
const HASHES_END: i32 = 8128
/** Keys of larger objects are not compared, because each is compared with all before it. */
const MAX_COMPARED: i32 = 256
/** Holds the secret of `textHash`: 192 random bytes. */
const SECRET: i32 = 512
const SECRET_STEPS: i32 = 16
/** The bytes that `textHash` reads at a time. */
const STRIPE: i32 = 64
/** Holds the text. */
const TEXT: i32 = 8192

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

/** The parts, and the pieces that the bounds still allow. */
let parts: i32 = 0
let piecesLeft: i32 = 0
let maxDepth: i32 = 0
/** The end of the hashes of keys; 0 when keys are not compared, or may be repeated. */
let hashesEnd: i32 = 0
/** The strings with an escaped character so far. */
let escapedStrings: i32 = 0
/** The offsets of the open member of the outermost object: its key, with quotes. */
let outerFrom: i32 = 0
let outerTo: i32 = 0

/** Returns the pieces that the bounds still allowed at the end of the last text. */
export function unusedPieces(): i32 {
  return piecesLeft
}

/**
 * Returns true when no object of the last text has a key twice, and no key is escaped. May return
 * false for other texts: by chance, or for very many keys.
 */
export function hasPlainKeys(): bool {
  return hashesEnd != 0
}

/** Returns the number of parts of the last text. */
export function partCount(): i32 {
  return parts
}

/**
 * Returns true for a text of `size` bytes that is one JSON object with at most `pieces` containers,
 * commas and colons, nested at most `depth` times. Does not check the UTF-8 in strings. Compares
 * keys when `compares` is true.
 */
export function scan(size: i32, pieces: i32, depth: i32, compares: bool): bool {
  const end = TEXT + size
  // One block that the loop over blocks may load, and one character behind it.
  v128.store(end, i8x16.splat(0))
  store<u64>(end + 16, 0)
  hashesEnd = compares ? HASHES : 0
  escapedStrings = 0
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
  const hashes = hashesEnd
  while (true) {
    const keyFrom = at
    if (load<u8>(at) != QUOTE) return INVALID
    const escapedBefore = escapedStrings
    const keyTo = stringEnd(at)
    if (keyTo == INVALID) return INVALID
    if (hashesEnd != 0 && (escapedStrings != escapedBefore || isRepeated(keyFrom, keyTo, hashes))) {
      hashesEnd = 0
    }
    at = blankEnd(keyTo)
    if (load<u8>(at) != COLON || --piecesLeft < 0) return INVALID
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
    if (next == CLOSE_OBJECT) {
      if (hashesEnd != 0) hashesEnd = hashes
      return at + 1
    }
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
    if ((escaped & inside & 0xffff) != 0) {
      escapedStrings++
      if (!areEscapes(at, block, escaped & inside & 0xffff)) return INVALID
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

/**
 * Adds a key to those of its object, which begin at `hashes`. Returns true when it is there already,
 * or was not compared. Keys with the same bytes have the same hash.
 */
function isRepeated(keyFrom: i32, keyTo: i32, hashes: i32): bool {
  const end = hashesEnd
  if (end == HASHES_END || end - hashes == 4 * MAX_COMPARED) return true
  const hash = keyHash(keyFrom + 1, keyTo - 1)
  const wanted = i32x4.splat(hash)
  let at = hashes
  for (; at + 16 <= end; at += 16) {
    if (v128.any_true(i32x4.eq(v128.load(at), wanted))) return true
  }
  for (; at < end; at += 4) if (load<i32>(at) == hash) return true
  store<i32>(end, hash)
  hashesEnd = end + 4
  return false
}

/** Mixes eight bytes at a time. */
function keyHash(at: i32, end: i32): i32 {
  let hash: u64 = u64(end - at)
  for (; at + 8 <= end; at += 8) hash = mixed(hash ^ load<u64>(at))
  if (at < end) hash = mixed(hash ^ (load<u64>(at) & (((<u64>1) << (8 * (end - at))) - 1)))
  return i32(hash >> 32)
}

function mixed(hash: u64): u64 {
  hash *= 0x1e3779b97f4a7d
  return hash ^ (hash >> 29)
}

/**
 * Returns a hash of `size` bytes of text, of 53 bits as a float. Sums products of the two halves of
 * each number, mixed with the secret, as XXH3 does: nobody without the secret finds two texts with
 * one hash.
 */
export function textHash(size: i32): f64 {
  const end = TEXT + size
  // The last stripe ends in zeros.
  for (let at = end; at < end + STRIPE; at += 16) v128.store(at, i8x16.splat(0))
  let a = v128.load(SECRET)
  let b = v128.load(SECRET, 16)
  let c = v128.load(SECRET, 32)
  let d = v128.load(SECRET, 48)
  let step = 0
  for (let at = TEXT; at < end; at += STRIPE) {
    const secret = SECRET + 8 * step
    a = summed(a, v128.load(at), v128.load(secret))
    b = summed(b, v128.load(at, 16), v128.load(secret, 16))
    c = summed(c, v128.load(at, 32), v128.load(secret, 32))
    d = summed(d, v128.load(at, 48), v128.load(secret, 48))
    if (++step < SECRET_STEPS) continue
    step = 0
    a = stirred(a, v128.load(SECRET, 128))
    b = stirred(b, v128.load(SECRET, 144))
    c = stirred(c, v128.load(SECRET, 160))
    d = stirred(d, v128.load(SECRET, 176))
  }
  const one = folded(folded(u64(size), a, SECRET + 5), b, SECRET + 21)
  return f64(folded(folded(one, c, SECRET + 37), d, SECRET + 53) >> 11)
}

function summed(sum: v128, bytes: v128, secret: v128): v128 {
  const keyed = v128.xor(bytes, secret)
  const low = i32x4.shuffle(keyed, keyed, 0, 2, 0, 2)
  const high = i32x4.shuffle(keyed, keyed, 1, 3, 1, 3)
  const swapped = i64x2.shuffle(bytes, bytes, 1, 0)
  return i64x2.add(i64x2.add(sum, swapped), i64x2.extmul_low_i32x4_u(low, high))
}

/** Makes the order of blocks matter. */
function stirred(sum: v128, secret: v128): v128 {
  const keyed = v128.xor(v128.xor(sum, i64x2.shr_u(sum, 47)), secret)
  return i64x2.mul(keyed, i64x2.splat(0x9e3779b1))
}

function folded(hash: u64, sum: v128, secret: i32): u64 {
  hash = mixed(hash ^ u64(i64x2.extract_lane(sum, 0)) ^ load<u64>(secret))
  return mixed(hash ^ u64(i64x2.extract_lane(sum, 1)) ^ load<u64>(secret, 8))
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
