import { hash, randomBytes } from 'node:crypto'
import { MAX_CANONICAL_DEPTH } from '../values.ts'

/** Random for each process: nobody can choose two values with one hash, or find a value by it. */
const KEY = randomBytes(8)
const KEY_A = KEY.readInt32LE(0)
const KEY_B = KEY.readInt32LE(4)
/** Longer strings are hashed by OpenSSL, which is faster from here on. */
const LONG = 512
const FLOAT = new Float64Array(1)
const WORDS = new Int32Array(FLOAT.buffer)
/** The second half of the last hash: two numbers are returned without an array. */
let second = 0

/**
 * Returns a keyed hash of a JSON value, of 53 bits: equal for values with the same canonical form,
 * without writing that form.
 */
export function jsonHash(value: unknown): number {
  const first = hashOf(value, 0)
  return (first >>> 0) * 0x200000 + (second >>> 11)
}

/** Returns one half of the hash, and leaves the other in `second`. */
function hashOf(value: unknown, depth: number): number {
  if (typeof value === 'string') return hashText(value)
  if (typeof value === 'number') {
    // 0 and -0 are one value of JSON.
    FLOAT[0] = value + 0
    return mix(WORDS[0]!, WORDS[1]!, 1)
  }
  if (typeof value === 'boolean') return mix(value ? 1 : 0, 0, 2)
  if (typeof value !== 'object' || value === null || depth >= MAX_CANONICAL_DEPTH) {
    return mix(0, 0, 3)
  }
  return Array.isArray(value) ? hashList(value, depth) : hashRecord(value, depth)
}

function hashText(text: string): number {
  const shown = text.length > LONG ? hash('sha256', text) : text
  let a = KEY_A
  let b = KEY_B
  for (let i = 0; i < shown.length; i++) {
    const code = shown.charCodeAt(i)
    a = Math.imul(a ^ code, 0x85ebca6b)
    b = Math.imul(b, 31) + code + (a >>> 13)
  }
  return mix(a, b, text.length ^ 0x5bd1e995)
}

function hashList(list: readonly unknown[], depth: number): number {
  let a = list.length
  let b = 4
  for (const element of list) {
    const one = hashOf(element, depth + 1)
    a = Math.imul(a, 0x9e3779b1) + one
    b = Math.imul(b, 0x85ebca77) + second
  }
  return mix(a, b, 4)
}

/** Adds up the members, so that their order does not matter. */
function hashRecord(record: object, depth: number): number {
  let a = 0
  let b = 0
  for (const key in record) {
    const value = (record as Readonly<Record<string, unknown>>)[key]
    if (value === undefined) continue
    const name = hashText(key)
    const other = second
    const one = hashOf(value, depth + 1)
    a = (a + mix(name, one, other ^ second)) | 0
    b = (b + second) | 0
  }
  return mix(a, b, 5)
}

function mix(a: number, b: number, kind: number): number {
  let one = a ^ KEY_B ^ Math.imul(kind, 0x9e3779b1)
  let two = b ^ KEY_A
  one = Math.imul(one ^ (one >>> 16), 0x7feb352d) + two
  two = Math.imul(two ^ (two >>> 15), 0x846ca68b) ^ one
  one = Math.imul(one ^ (one >>> 15), 0x2c1b3c6d) + two
  second = two ^ (two >>> 16)
  return one ^ (one >>> 16)
}
