import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import type { Random } from '../support/random.ts'

/** JSON values that cost far more to read than they have bytes, each of about `size` bytes. */
export const HOSTILE_VALUES: Readonly<Record<string, (size: number) => string>> = {
  objects: (size) => `[${'{},'.repeat(size / 3)}0]`,
  arrays: (size) => '['.repeat(size / 2) + ']'.repeat(size / 2),
  deepObjects: (size) => `${'{"a":'.repeat(size / 6)}0${'}'.repeat(size / 6)}`,
  numbers: (size) => `[${'1,'.repeat(size / 2)}0]`,
  keys: (size) => {
    let text = '{'
    for (let n = 0; text.length < size; n++) text += `"${n.toString(36)}":0,`
    return `${text}"":0}`
  },
  records: (size) => {
    let text = '['
    for (let n = 0; text.length < size; n++) text += `{"${n.toString(36)}":0},`
    return `${text}0]`
  },
  string: (size) => JSON.stringify('x'.repeat(size)),
  wideString: (size) => JSON.stringify(`${'x'.repeat(size - 3)}€`),
  quotes: (size) => JSON.stringify('"'.repeat(size / 2)),
  escapes: (size) => `"${'\\n'.repeat(size / 2)}"`,
  texts: (size) => JSON.stringify(`[${'{},'.repeat(size / 3)}0]`),
}

/** Encodings of a body before it is sent, with their headers. */
export const PACKED: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => gzipSync(bytes),
  deflate: (bytes) => deflateSync(bytes),
  br: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
}

/** A call whose arguments hold a value. */
export function callWith(value: string, tool = 'plain', id = 1): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${tool}","arguments":{"a":${value}}}}`
}

/** A result that holds a value where rules look for one. */
export function resultWith(value: string, id = 1): string {
  return `{"jsonrpc":"2.0","id":${id},"result":{"structuredContent":{"a":${value}},"content":[{"type":"text","text":"a"}]}}`
}

/** A POST as it goes over the wire. */
export function posted(body: string | Buffer, headers: readonly string[] = []): Buffer {
  const bytes = Buffer.from(body)
  const lines = [
    'POST /mcp HTTP/1.1',
    'Host: a',
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `Content-Length: ${bytes.length}`,
    ...headers,
  ]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), bytes])
}

const SIZES = [100, 15_000, 40_000, 150_000, 200_000, 1_000_000, 4_190_000]
const made = new Map<string, string>()

/** One of the values, of one of the sizes at which bounds are. */
export function anyValue(random: Random): string {
  const kind = random.pick(Object.keys(HOSTILE_VALUES))
  const size = random.pick(SIZES)
  const key = `${kind} ${size}`
  const value = made.get(key) ?? HOSTILE_VALUES[kind]!(size)
  made.set(key, value)
  return value
}
