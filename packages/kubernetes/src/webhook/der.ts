const BOOLEAN = 0x01
const INTEGER = 0x02
const BIT_STRING = 0x03
const OCTET_STRING = 0x04
const OBJECT_IDENTIFIER = 0x06
const UTF8_STRING = 0x0c
const UTC_TIME = 0x17
const GENERALIZED_TIME = 0x18
const SEQUENCE = 0x30
const SET = 0x31
const CONTEXT = 0x80
const CONSTRUCTED = 0x20

/** Encodes one value in DER: tag, length, contents. */
function derValue(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents)
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body])
}

export function derSequence(...members: readonly Uint8Array[]): Buffer {
  return derValue(SEQUENCE, ...members)
}

/** Encodes a set of one member: larger ones would have to be sorted. */
export function derSet(member: Uint8Array): Buffer {
  return derValue(SET, member)
}

/** Encodes true; false is a default that callers omit. */
export function derTrue(): Buffer {
  return derValue(BOOLEAN, Buffer.from([0xff]))
}

/** Encodes a number that is not negative, from its bytes. */
export function derInteger(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0)
  const short = first < 0 ? Buffer.from([0]) : Buffer.from(bytes.subarray(first))
  // A leading bit of 1 would make it negative.
  const padding = (short[0] ?? 0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0)
  return derValue(INTEGER, padding, short)
}

/** Encodes bits without the last `unused` ones. */
export function derBits(bytes: Uint8Array, unused = 0): Buffer {
  return derValue(BIT_STRING, Buffer.from([unused]), bytes)
}

export function derOctets(bytes: Uint8Array): Buffer {
  return derValue(OCTET_STRING, bytes)
}

/** Encodes an object identifier such as `2.5.4.3`. */
export function derObject(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [40 * first + second, ...rest].flatMap(base128)
  return derValue(OBJECT_IDENTIFIER, Buffer.from(bytes))
}

export function derText(text: string): Buffer {
  return derValue(UTF8_STRING, Buffer.from(text, 'utf8'))
}

/** Encodes a time in seconds: in the short form up to 2049, as certificates require. */
export function derTime(time: Date): Buffer {
  const digits = time
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replace(/[-:T]/g, '')
  if (time.getUTCFullYear() < 2050) return derValue(UTC_TIME, Buffer.from(digits.slice(2)))
  return derValue(GENERALIZED_TIME, Buffer.from(digits))
}

/** Encodes a context-specific value around other values, or around bytes. */
export function derTagged(
  number: number,
  kind: 'values' | 'bytes',
  ...contents: readonly Uint8Array[]
): Buffer {
  return derValue(CONTEXT | (kind === 'values' ? CONSTRUCTED : 0) | number, ...contents)
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const bytes: number[] = []
  for (let left = length; left > 0; left = Math.floor(left / 256)) bytes.unshift(left % 256)
  return Buffer.from([0x80 | bytes.length, ...bytes])
}

function base128(number: number): number[] {
  const bytes = [number % 128]
  for (let left = Math.floor(number / 128); left > 0; left = Math.floor(left / 128)) {
    bytes.unshift(0x80 | (left % 128))
  }
  return bytes
}
