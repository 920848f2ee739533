import { type LinePart, mayBeMessage } from './lines.ts'

const LF = 0x0a
const CR = 0x0d
/** Escapes a byte of a raw line that would end the line of an event. */
const ESCAPE = 0x10
const ESCAPED: ReadonlyMap<number, number> = new Map([
  [CR, 0x72],
  [ESCAPE, 0x65],
])
const ORIGINAL: ReadonlyMap<number, number> = new Map([...ESCAPED].map(([from, to]) => [to, from]))

const DATA = 'data: '
/** Begins the comment for a line without a message. */
const RAW = ':>'
const NOTHING = new Uint8Array(0)

/**
 * Writes a part of the server's lines as an event: a message as its data, with the same line
 * ending, and all else as a comment, which faults and observers pass on in order.
 */
export function eventOf({ bytes, kind }: LinePart): Uint8Array {
  if (kind === 'line' && mayBeMessage(bytes)) {
    const ending = bytes.subarray(bytes.at(-2) === CR ? -2 : -1)
    return Buffer.concat([Buffer.from(DATA), bytes, ending])
  }
  const start = kind === 'more' ? NOTHING : Buffer.from(RAW)
  const ending = bytes.at(-1) === LF ? Uint8Array.of(LF) : NOTHING
  return Buffer.concat([start, escaped(bytes), ending])
}

/** Returns the lines of a text as events. */
export function eventsOfText(text: string): Uint8Array {
  const lines = text.split('\n').map((line) => Buffer.from(`${line}\n`))
  return Buffer.concat(lines.map((bytes) => eventOf({ bytes, kind: 'line' })))
}

function escaped(bytes: Buffer): Uint8Array {
  let special = 0
  for (const byte of bytes) if (ESCAPED.has(byte)) special++
  if (special === 0) return bytes
  const out = Buffer.allocUnsafe(bytes.length + special)
  let size = 0
  for (const byte of bytes) {
    const code = ESCAPED.get(byte)
    if (code !== undefined) out[size++] = ESCAPE
    out[size++] = code ?? byte
  }
  return out
}

/** Reads events back as lines; drops other fields, and comments of Squall. */
export class EventLines {
  #at: 'start' | 'data' | 'raw' | 'other' = 'start'
  /** The first characters of the line of an event. */
  #prefix = ''
  #isEscaped = false
  /** True behind the first event, which names the endpoint and is not for the client. */
  #isAnnounced = false

  /** Returns the bytes of lines, as parts of a line come. */
  read(chunk: Uint8Array): Uint8Array[] {
    const out: Uint8Array[] = []
    for (let at = 0; at < chunk.length;) {
      if (this.#at === 'start') {
        this.#start(chunk[at++]!)
        continue
      }
      const end = chunk.indexOf(LF, at) + 1
      const to = end === 0 ? chunk.length : end
      if (this.#at === 'data') out.push(chunk.subarray(at, to))
      else if (this.#at === 'raw') out.push(this.#unescaped(chunk.subarray(at, to)))
      if (end > 0) this.#begin()
      at = to
    }
    return out
  }

  #begin(): void {
    this.#at = 'start'
    this.#prefix = ''
  }

  #start(byte: number): void {
    if (byte === LF) return this.#begin()
    const prefix = (this.#prefix += String.fromCharCode(byte))
    if (prefix === DATA) {
      this.#at = this.#isAnnounced ? 'data' : 'other'
      this.#isAnnounced = true
    } else if (prefix === RAW) this.#at = 'raw'
    else if (!DATA.startsWith(prefix) && !RAW.startsWith(prefix)) this.#at = 'other'
  }

  #unescaped(bytes: Uint8Array): Uint8Array {
    if (!this.#isEscaped && !bytes.includes(ESCAPE)) return bytes
    const out = Buffer.allocUnsafe(bytes.length)
    let size = 0
    for (const byte of bytes) {
      const isCode = this.#isEscaped
      this.#isEscaped = !isCode && byte === ESCAPE
      if (!this.#isEscaped) out[size++] = isCode ? (ORIGINAL.get(byte) ?? ESCAPE) : byte
    }
    return out.subarray(0, size)
  }
}
