import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { asBuffer } from '../bytes.ts'
import { JSON_SCAN_MODULE } from './json-scan-module.ts'
import { MAX_JSON_DEPTH, MAX_JSON_PIECES } from './json-bounds.ts'

/** Smaller texts are parsed as fast. */
const SCAN_FROM = 2 * 1024
/** Limits the memory of the scan, which does not shrink. */
const SCAN_TO = 2 * 1024 * 1024
/** Longer outlines are not worth a scan. */
const MAX_OUTLINE = 8 * 1024

const PAGE = 64 * 1024
/** Where `wasm/json-scan.ts` has its secret, the parts and the text. */
const SECRET = 512
const SECRET_SIZE = 192
const PARTS = 1024
const PART_SIZE = 24
const TEXT = 8192
/** The memory behind the text that is cleared. */
const BEHIND = 64

interface Scan {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number }
  scan(size: number, pieces: number, depth: number, compares: boolean): number
  unusedPieces(): number
  hasPlainKeys(): number
  partCount(): number
  textHash(size: number): number
}

/** A valid JSON object in UTF-8, in which no object has a key twice or an escaped key. */
export interface PlainObject {
  /** The object; null in the place of the omitted part. */
  readonly value: Readonly<Record<string, unknown>>
  readonly omitted: Uint8Array | undefined
  /** The objects, arrays, members and items in the whole text. */
  readonly pieces: number
}

/** Missing where V8 runs without a compiler (`--jitless`). */
declare const WebAssembly:
  | {
      readonly Module: new (bytes: Uint8Array) => object
      readonly Instance: new (module: object) => { readonly exports: unknown }
    }
  | undefined

/** Undefined before the first use; null where there is no WebAssembly with SIMD. */
let loaded: Scan | null | undefined
let memory = Buffer.alloc(0)

/**
 * Parses a JSON object without some members of its members: `omitted` has their paths, such as
 * `result.content`, and each becomes null. The text is checked as a whole, but for the UTF-8 in
 * strings. Returns undefined for a text that is not one valid object within the bounds, and for any
 * other that a parser should read.
 */
export function parseOutline(
  pieces: readonly Uint8Array[],
  size: number,
  omitted: ReadonlySet<string>,
): unknown {
  const scan = scanned(pieces, size, false)
  if (scan === undefined) return undefined
  let outline = ''
  let from = 0
  const count = scan.partCount()
  for (let at = PARTS; at < PARTS + count * PART_SIZE; at += PART_SIZE) {
    if (!omitted.has(pathAt(at))) continue
    const to = memory.readInt32LE(at + 16)
    if (outline.length + to - from > MAX_OUTLINE) return undefined
    outline += `${textOf(from, to)}null`
    from = memory.readInt32LE(at + 20)
  }
  if (outline.length + size - from > MAX_OUTLINE) return undefined
  return JSON.parse(outline + textOf(from, size))
}

/**
 * Parses a JSON object without one member of a member, such as `params.arguments`, when that has more
 * than `over` bytes. Returns undefined for a text that is not plain, and for any other that a parser
 * should read.
 */
export function parsePlain(bytes: Uint8Array, path: string, over: number): PlainObject | undefined {
  const scan = scanned([bytes], bytes.length, true)
  if (scan === undefined || scan.hasPlainKeys() !== 1 || !isUtf8(bytes)) return undefined
  const pieces = MAX_JSON_PIECES - scan.unusedPieces()
  const text = asBuffer(bytes)
  for (let part = 0; part < scan.partCount(); part++) {
    const at = PARTS + part * PART_SIZE
    const [from, to] = [memory.readInt32LE(at + 16), memory.readInt32LE(at + 20)]
    if (to - from <= over || pathAt(at) !== path) continue
    const outline = `${text.toString('utf8', 0, from)}null${text.toString('utf8', to)}`
    return { value: JSON.parse(outline), omitted: text.subarray(from, to), pieces }
  }
  return { value: JSON.parse(text.toString()), omitted: undefined, pieces }
}

/** Returns a keyed hash of bytes that were omitted, of 53 bits. */
export function hashOfOmitted(bytes: Uint8Array): number {
  write([bytes], bytes.length)
  return loaded!.textHash(bytes.length)
}

/** Returns the scan after it found a valid object. */
function scanned(pieces: readonly Uint8Array[], size: number, keys: boolean): Scan | undefined {
  if (size < SCAN_FROM || size > SCAN_TO) return undefined
  loaded ??= load()
  if (loaded === null) return undefined
  write(pieces, size)
  const found = loaded.scan(size, MAX_JSON_PIECES, MAX_JSON_DEPTH, keys)
  return found === 1 ? loaded : undefined
}

function write(pieces: readonly Uint8Array[], size: number): void {
  const missing = TEXT + size + BEHIND - memory.length
  if (missing > 0) {
    loaded!.memory.grow(Math.ceil(missing / PAGE))
    memory = Buffer.from(loaded!.memory.buffer)
  }
  let at = TEXT
  for (const piece of pieces) {
    memory.set(piece, at)
    at += piece.length
  }
}

function load(): Scan | null {
  if (typeof WebAssembly === 'undefined') return null
  try {
    const module = new WebAssembly.Module(Buffer.from(JSON_SCAN_MODULE, 'base64'))
    const scan = new WebAssembly.Instance(module).exports as Scan
    scan.memory.grow(1)
    Buffer.from(scan.memory.buffer).set(randomBytes(SECRET_SIZE), SECRET)
    return scan
  } catch {
    return null
  }
}

/** Returns the path of a part, without its long keys. */
function pathAt(part: number): string {
  return `${keyAt(part)}.${keyAt(part + 8)}`
}

function keyAt(at: number): string {
  const from = TEXT + memory.readInt32LE(at) + 1
  const to = TEXT + memory.readInt32LE(at + 4) - 1
  return to - from > 64 ? '' : memory.toString('latin1', from, to)
}

function textOf(from: number, to: number): string {
  return memory.toString('utf8', TEXT + from, TEXT + to)
}
