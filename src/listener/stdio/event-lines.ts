import { type LinePart, mayBeMessage } from './lines.ts'

const LF = 0x0a
const CR = 0x0d
/** Stands before a byte of a raw line that would end the line of an event. */
const ESCAPE = 0x10
const ESCAPED: ReadonlyMap<number, number> = new Map([
  [CR, 0x72],
  [ESCAPE, 0x65],
])
const ORIGINAL: ReadonlyMap<number, number> = new Map([...ESCAPED].map(([from, to]) => [to, from]))

const DATA = 'data: '
/** Begins the comment with a line that is no message. */
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

function escaped(bytes: Buffer): Uint8Array {
  if (!bytes.includes(CR) && !bytes.includes(ESCAPE)) return bytes
  const parts: Uint8Array[] = []
  let from = 0
  for (let at = 0; at < bytes.length; at++) {
    const code = ESCAPED.get(bytes[at]!)
    if (code === undefined) continue
    parts.push(bytes.subarray(from, at), Uint8Array.of(ESCAPE, code))
    from = at + 1
  }
  return Buffer.concat([...parts, bytes.subarray(from)])
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
      else if (this.#at === 'raw') out.push(...this.#unescaped(chunk.subarray(at, to)))
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

  *#unescaped(bytes: Uint8Array): Generator<Uint8Array> {
    let from = 0
    for (let at = this.#isEscaped ? 0 : bytes.indexOf(ESCAPE); at >= 0;) {
      if (!this.#isEscaped) yield bytes.subarray(from, at++)
      this.#isEscaped = at === bytes.length
      if (this.#isEscaped) return
      yield Uint8Array.of(ORIGINAL.get(bytes[at]!) ?? ESCAPE)
      from = at + 1
      at = bytes.indexOf(ESCAPE, from)
    }
    yield bytes.subarray(from)
  }
}
