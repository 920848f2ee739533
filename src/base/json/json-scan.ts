import { JSON_SCAN_MODULE } from './json-scan-module.ts'
import { MAX_JSON_DEPTH, MAX_JSON_PIECES } from './json-bounds.ts'

/** Smaller texts are parsed as fast. */
const SCAN_FROM = 2 * 1024
/** Limits the memory of the scan, which does not shrink. */
const SCAN_TO = 2 * 1024 * 1024
/** Longer outlines are not worth a scan. */
const MAX_OUTLINE = 8 * 1024

const PAGE = 64 * 1024
/** Where `wasm/json-scan.ts` has the parts and the text. */
const PARTS = 1024
const PART_SIZE = 24
const TEXT = 4096
/** The memory that the scan clears behind the text. */
const BEHIND = 24

interface Scan {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number }
  scan(size: number, pieces: number, depth: number): number
  keyCount(): number
  partCount(): number
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
  const scan = scanned(pieces, size)
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
 * Counts the keys of a valid JSON object, repeated keys each time; undefined for a text that a parser
 * should read.
 */
export function scanKeys(bytes: Uint8Array): number | undefined {
  return scanned([bytes], bytes.length)?.keyCount()
}

/** Returns the scan after it found a valid object. */
function scanned(pieces: readonly Uint8Array[], size: number): Scan | undefined {
  if (size < SCAN_FROM || size > SCAN_TO) return undefined
  loaded ??= load()
  if (loaded === null) return undefined
  const missing = TEXT + size + BEHIND - memory.length
  if (missing > 0) {
    loaded.memory.grow(Math.ceil(missing / PAGE))
    memory = Buffer.from(loaded.memory.buffer)
  }
  let at = TEXT
  for (const piece of pieces) {
    memory.set(piece, at)
    at += piece.length
  }
  return loaded.scan(size, MAX_JSON_PIECES, MAX_JSON_DEPTH) === 1 ? loaded : undefined
}

function load(): Scan | null {
  if (typeof WebAssembly === 'undefined') return null
  try {
    const module = new WebAssembly.Module(Buffer.from(JSON_SCAN_MODULE, 'base64'))
    return new WebAssembly.Instance(module).exports as Scan
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
