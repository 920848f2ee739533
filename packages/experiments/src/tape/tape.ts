import { type FileHandle, open as openFile } from 'node:fs/promises'
import {
  canonicalJson,
  fieldsOf,
  isRecord,
  parsedJson,
  quoted,
  sha256Of,
  systemReason,
  textOf,
} from '#base'
import { invalidFile } from '#cli'
import { LineSplitter, pathsOf, TAPE_VERSION, type TapeHeader, type TapeLine } from '#sidecar'

/** The result of a longer line is not parsed: it must be its last member. */
const MAX_PARSED = 16 * 1024 * 1024
/** The members before the result of such a line. */
const MAX_START = 64 * 1024
const CHUNK = 256 * 1024
const MAX_LINES = 20_000_000
const RESULT = ',"result":'
const TEXTS = ['session', 'method', 'retryAfter', 'body', 'failed'] as const
const PRINTABLE = /^[ -~]{0,100}$/
const LF = 10
const NOTHING = Buffer.alloc(0)
const NONE: Place[] = []

/** A part of the file. */
interface FilePart {
  readonly start: number
  readonly end: number
}

/** A text, parts of which are in the file. */
export type TapeText = readonly (string | FilePart)[]

/** A line of the file. */
interface Place extends FilePart {
  readonly line: number
  readonly at: number
}

/** A request of the client with what the server sent for it. */
export interface TapedCall extends Place {
  readonly exchange: number
  session: string
  readonly method: string
  /** The tool, prompt, resource or protocol version; empty for other requests. */
  readonly name: string
  readonly key: string
  /** True for a request with a cursor. */
  readonly isPage: boolean
  /** What the server sent for the request. */
  responses: Place[]
  /** The messages that the server sent between this request and the next, for no request. */
  pushed: Place[] | undefined
  /** True once a line ended the call: the last response. */
  isDone: boolean
}

/** Adds to each call how often the same call came before. */
export function withOccurrences<Call extends { readonly key: string }>(calls: readonly Call[]) {
  const counts = new Map<string, number>()
  return calls.map((call) => {
    const occurrence = counts.get(call.key) ?? 0
    counts.set(call.key, occurrence + 1)
    return { ...call, occurrence }
  })
}

/** A session, and its open calls while lines are read. */
interface ReadSession {
  /** The calls of tools, prompts and resources. */
  calls: number
  readonly open: Set<TapedCall>
  last: TapedCall
}

/** The methods that a tape must have; the others have a default. */
export const NAMED: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Returns the tool, prompt, resource or protocol version of a request; empty for others. */
export function nameOf(method: string, params: unknown): string {
  const { name, uri, protocolVersion } = fieldsOf(params)
  if (method === 'initialize') return textOf(protocolVersion) ?? ''
  if (!NAMED.has(method)) return ''
  return textOf(method === 'resources/read' ? uri : name) ?? ''
}

/** Returns the key by which a request is found: what it asks for, without what each client adds. */
export function keyOf(method: string, params: unknown): string {
  const { _meta, inputResponses: _i, requestState: _r, cursor, ...asked } = fieldsOf(params)
  if (method === 'initialize') return method
  const args = method === 'tools/call' ? { arguments: {}, ...asked } : asked
  const page = cursor === undefined ? '' : '#'
  const text = canonicalJson(args)
  // Many keys are held: flat and short, unlike the texts that they are made of.
  const digest = text.length > 32 ? sha256Of(text).slice(0, 32) : text
  return Buffer.from(`${method}${page} ${digest}`).toString()
}

export type Tape = Awaited<ReturnType<typeof openTape>>

/** Reads what is where in a file; its messages are read when needed. Throws a `UsageError`. */
export async function openTape(path: string) {
  let file: FileHandle | undefined
  try {
    file = await openFile(path, 'r')
    if (!(await file.stat()).isFile()) throw new Error('not a regular file')
    const reader = new TapeReader()
    const bytes = await eachLine(file, (line) => reader.take(line))
    if (reader.header === undefined) throw new Error('it is empty')
    const { calls, unread } = reader
    const sessions = [...reader.sessions].map(([id, session]) => ({ id, calls: session.calls }))
    return { path, bytes, calls, sessions, unread, ...tapeOf(file, reader.header) }
  } catch (error) {
    await file?.close()
    const wrong = `the tape ${quoted(path)}: ${systemReason(error)}`
    throw invalidFile(wrong, 'specify a file written by squall run --tape')
  }
}

/** Opens a tape, and closes it after the use. Throws a `UsageError`. */
export async function withTape<T>(path: string, use: (tape: Tape) => Promise<T>): Promise<T> {
  const tape = await openTape(path)
  try {
    return await use(tape)
  } finally {
    await tape.close()
  }
}

/** Returns the header of a file, and what reads its messages. */
function tapeOf(file: FileHandle, header: TapeHeader) {
  const { secrets, redact = [] } = header
  const bytesAt = async ({ start, end }: FilePart): Promise<Buffer> => {
    const bytes = Buffer.allocUnsafe(end - start)
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start)
    return bytes.subarray(0, bytesRead)
  }
  return {
    header,
    redaction: { keepSecrets: secrets === 'kept', paths: pathsOf(redact) },
    /**
     * Returns the members of a line, or undefined when the file has changed. `long` is a result
     * that is too large to be parsed, which is null in the line.
     */
    read: async ({ start, end }: Place): Promise<ReadLine | undefined> => {
      const isLong = end - start > MAX_PARSED
      const bytes = await bytesAt({ start, end: isLong ? start + MAX_START : end })
      const line = lineOf(bytes, isLong)
      if (typeof line === 'string') return undefined
      if (!isLong) return line
      const tail = (await bytesAt({ start: end - 16, end })).toString('latin1').trimEnd()
      const from = start + bytes.indexOf(RESULT) + RESULT.length
      return { ...line, long: { start: from, end: end - 16 + tail.length - 1 } }
    },
    /** Reads a text, whose parts in the file come piece by piece. */
    async *pieces(text: TapeText): AsyncGenerator<Buffer> {
      for (const part of text) {
        if (typeof part === 'string') {
          yield Buffer.from(part)
          continue
        }
        for (let start = part.start; start < part.end; start += CHUNK) {
          yield await bytesAt({ start, end: Math.min(part.end, start + CHUNK) })
        }
      }
    },
    close: () => file.close(),
  }
}

export type ReadLine = TapeLine & { readonly long?: FilePart }

/** Returns the size of a text in bytes. */
export function sizeOf(text: TapeText): number {
  const sizes = text.map((part) =>
    typeof part === 'string' ? Buffer.byteLength(part) : part.end - part.start,
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Returns a function that writes one text after the other; `write` returns false to get no more. */
export function textWriter(tape: Tape, write: (bytes: Buffer) => Promise<boolean>) {
  let last: Promise<void> = Promise.resolve()
  const writeAfter = async (before: Promise<void>, text: TapeText): Promise<void> => {
    await before
    for await (const piece of tape.pieces(text)) if (!(await write(piece))) return
  }
  return (text: TapeText): Promise<void> => (last = writeAfter(last, text))
}

interface RawLine extends FilePart {
  readonly line: number
  /** The whole line, or its beginning. */
  readonly bytes: Buffer
}

/** Reads a file line by line, and holds at most one of them; returns the size of the file. */
async function eachLine(file: FileHandle, take: (line: RawLine) => void): Promise<number> {
  // A line feed does not count.
  const splitter = new LineSplitter(MAX_PARSED + 1)
  let line = 0
  let start = 0
  let size = 0
  let held: Buffer = NOTHING
  const finish = (lineFeed: number): void => {
    if (++line > MAX_LINES) throw new Error(`it has more than ${MAX_LINES} lines`)
    const end = start + size - lineFeed
    if (end > start) take({ line, start, end, bytes: held })
    start += size
    size = 0
    held = NOTHING
  }
  const add = (bytes: Buffer): void => {
    size += bytes.length
    // Only the beginning of a long line is kept, which may come in several pieces.
    if (size === bytes.length) held = bytes
    else if (held.length < MAX_START) held = Buffer.concat([held, bytes])
    if (bytes.at(-1) === LF) finish(1)
  }
  for await (const chunk of file.createReadStream({ autoClose: false, highWaterMark: CHUNK })) {
    for (const { bytes } of splitter.push(chunk as Buffer)) add(bytes)
  }
  add(splitter.end()?.bytes ?? NOTHING)
  if (size > 0) finish(0)
  return start
}

/** Returns the members of a line, or the reason for which it cannot be read. */
function lineOf(bytes: Buffer, isLong: boolean): TapeLine | string {
  let text = bytes.toString()
  if (isLong) {
    const at = text.indexOf(RESULT)
    if (at < 0) return 'the line is longer than 16 MiB, and result is not the last member'
    text = `${text.slice(0, at)},"result":null}`
  }
  const value = parsedJson(text)
  if (value === undefined) return 'invalid JSON'
  if (!isRecord(value)) return 'not a JSON object'
  const { at, exchange, from, id, status = 200, retryAfter = '', error } = value
  if (typeof at !== 'number' || typeof exchange !== 'number')
    return 'at and exchange must be numbers'
  if (from !== 'client' && from !== 'server') return 'from must be client or server'
  if (!['string', 'number', 'undefined'].includes(typeof id) && id !== null)
    return 'id must be a string or a number'
  const wrong = TEXTS.find((name) => !['string', 'undefined'].includes(typeof value[name]))
  if (wrong !== undefined) return `${wrong} must be a string`
  // Both are written into the head of a response.
  if (!Number.isInteger(status) || Number(status) < 100 || Number(status) > 599) {
    return 'status must be an integer from 100 to 599'
  }
  if (!PRINTABLE.test(String(retryAfter))) return 'retryAfter is not printable, or is too long'
  return (error === null ? { ...value, error: undefined } : value) as unknown as TapeLine
}

/** Reads the lines of a tape in order, and finds what belongs together. */
class TapeReader {
  header: TapeHeader | undefined
  readonly calls: TapedCall[] = []
  readonly sessions = new Map<string, ReadSession>()
  /** The lines that were not read. */
  readonly unread = { count: 0, firstLine: 0, firstReason: '' }
  /** The open calls by exchange, by exchange and id, by session and id, and by progress token. */
  readonly #open = new Map<string, TapedCall>()

  take(raw: RawLine): void {
    const isLong = raw.end - raw.start > MAX_PARSED
    if (this.header === undefined) {
      this.header = headerOf(isLong ? NOTHING : raw.bytes)
      return
    }
    const line = lineOf(isLong ? raw.bytes.subarray(0, MAX_START) : raw.bytes, isLong)
    if (typeof line === 'string') {
      if (this.unread.count++ > 0) return
      Object.assign(this.unread, { firstLine: raw.line, firstReason: line })
    } else if (line.from === 'client') this.#fromClient(raw, line)
    else this.#fromServer(raw, line)
  }

  #fromClient({ line, start, end }: RawLine, message: TapeLine): void {
    const { method, id, exchange, session = '', params, at } = message
    // Notifications, and responses to the server, are not compared.
    if (method === undefined || id === undefined) return
    const { cursor, _meta } = fieldsOf(params)
    const call: TapedCall = {
      line,
      start,
      end,
      at,
      exchange,
      session,
      method,
      name: nameOf(method, params),
      key: keyOf(method, params),
      isPage: cursor !== undefined,
      responses: NONE,
      pushed: undefined,
      isDone: false,
    }
    this.calls.push(call)
    const known = this.#sessionOf(session, call)
    known.open.add(call)
    known.last = call
    if (NAMED.has(method)) known.calls++
    this.#open.set(openKey('exchange', exchange), call)
    this.#open.set(openKey('exchange', exchange, id), call)
    if (session !== '') this.#open.set(openKey('session', session, id), call)
    const { progressToken } = fieldsOf(_meta)
    if (progressToken !== undefined) this.#open.set(openKey('token', session, progressToken), call)
  }

  #fromServer({ line, start, end }: RawLine, message: TapeLine): void {
    const { session = '', method, id, at } = message
    const ends = method === undefined
    const taped = { line, start, end, at }
    const call = ends ? this.#ended(message) : this.#during(message)
    if (call === undefined) {
      const { last } = this.sessions.get(session) ?? {}
      if (last !== undefined) (last.pushed ??= []).push(taped)
      return
    }
    // An array that grows holds room for many more.
    if (call.responses === NONE) call.responses = [taped]
    else call.responses.push(taped)
    if (!ends) return
    call.isDone = true
    this.#open.delete(openKey('exchange', call.exchange))
    this.#open.delete(openKey('exchange', call.exchange, id))
    this.#open.delete(openKey('session', session, id))
    this.sessions.get(call.session)!.open.delete(call)
    if (call.method !== 'initialize' || session === '') return
    // The response begins the session of its request.
    this.#sessionOf(session, call)
    call.session = session
  }

  /** Returns the open call that a response or a failure ends. */
  #ended({ exchange, session = '', id }: TapeLine): TapedCall | undefined {
    return (
      this.#open.get(openKey('exchange', exchange, id ?? undefined)) ??
      this.#open.get(openKey('session', session, id ?? undefined))
    )
  }

  /** Returns the open call that a notification or a request of the server belongs to. */
  #during({ exchange, session = '', via, params }: TapeLine): TapedCall | undefined {
    const { progressToken } = fieldsOf(params)
    const token = progressToken === undefined ? '' : openKey('token', session, progressToken)
    const call = this.#open.get(token)
    if (call !== undefined) return call.isDone ? undefined : call
    if (via !== 'stream') return this.#open.get(openKey('exchange', exchange))
    const { open, last } = this.sessions.get(session) ?? {}
    return last?.isDone === false ? last : open?.values().next().value
  }

  #sessionOf(id: string, last: TapedCall): ReadSession {
    const known = this.sessions.get(id) ?? { calls: 0, open: new Set(), last }
    this.sessions.set(id, known)
    return known
  }
}

function openKey(
  kind: 'exchange' | 'session' | 'token',
  of: number | string,
  id?: unknown,
): string {
  return `${kind} ${of} ${JSON.stringify(id)}`
}

function headerOf(bytes: Buffer): TapeHeader {
  // Unlike `toString`, leaves out a BOM.
  const value = parsedJson(new TextDecoder().decode(bytes))
  if (value === undefined) throw new Error('not a valid tape: the first line is not valid JSON')
  const { tape, secrets, redact = [] } = fieldsOf(value)
  if (typeof tape !== 'number')
    throw new Error('not a valid tape: the first line is missing the key "tape"')
  if (tape !== TAPE_VERSION) {
    const found = quoted(String(tape))
    throw new Error(`it has version ${found}, and this program reads ${TAPE_VERSION}`)
  }
  const isKnown = secrets === 'redacted' || secrets === 'kept'
  if (!isKnown || !Array.isArray(redact) || redact.some((each) => typeof each !== 'string')) {
    throw new Error('its first line has an invalid "secrets" or "redact"')
  }
  return value as TapeHeader
}
