import { type FileHandle, open as openFile } from 'node:fs/promises'
import { canonicalJson, fieldsOf, isRecord, parsedJson, quoted, sha256Of } from '#base'
import {
  LineSplitter,
  pathsOf,
  type Redaction,
  TAPE_VERSION,
  type TapeHeader,
  type TapeLine,
} from '#sidecar'

/** The result of a longer line is not parsed: it must be its last member. */
const MAX_PARSED = 16 * 1024 * 1024
/** The members before the result of such a line. */
const MAX_START = 64 * 1024
const CHUNK = 256 * 1024
const PIECE = 64 * 1024
const MAX_LINES = 20_000_000
const RESULT = ',"result":'
const TEXTS = ['session', 'method', 'retryAfter', 'body', 'failed'] as const
const PRINTABLE = /^[ -~]{0,100}$/
const LF = 10
const NOTHING = Buffer.alloc(0)
const NONE: TapedLine[] = []

/** A file that is not a tape, or cannot be played as asked. */
export class TapeError extends Error {
  readonly code = 'SQUALL_TAPE'
}

/** A line of the file. */
interface Place {
  readonly line: number
  readonly offset: number
  readonly length: number
  readonly at: number
}

/** A message of the server, or an end without one. */
interface TapedLine extends Place {
  readonly ends: boolean
}

/** A request of the client with what the server sent for it. */
export interface TapedCall extends Place {
  readonly exchange: number
  readonly session: string
  readonly method: string
  /** The tool, prompt, resource or protocol version; empty for other requests. */
  readonly name: string
  readonly key: string
  /** True for a request with a cursor. */
  readonly isPage: boolean
  responses: TapedLine[]
  /** The messages that the server sent between this request and the next, for no request. */
  pushed: TapedLine[] | undefined
  /** True once a line ended the call. */
  isDone: boolean
}

/** A session of a tape. */
export interface TapedSession {
  readonly id: string
  /** The calls of tools, prompts and resources. */
  calls: number
}

/** The lines that were not read. */
export interface Unread {
  count: number
  firstLine: number
  firstReason: string
}

/** The methods that a tape must have; the others have a default. */
export const NAMED: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Returns the tool, prompt, resource or protocol version of a request; empty for others. */
export function nameOf(method: string, params: unknown): string {
  const { name, uri, protocolVersion } = fieldsOf(params)
  if (method === 'initialize') return typeof protocolVersion === 'string' ? protocolVersion : ''
  if (!NAMED.has(method)) return ''
  const found = method === 'resources/read' ? uri : name
  return typeof found === 'string' ? found : ''
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

/** A recorded file: calls by line, whose messages are read when they are needed. */
export class Tape {
  readonly path: string
  readonly header: TapeHeader
  readonly redaction: Redaction
  readonly calls: readonly TapedCall[]
  readonly sessions: readonly TapedSession[]
  readonly unread: Unread
  readonly bytes: number
  readonly #file: FileHandle

  private constructor(path: string, file: FileHandle, read: TapeReader, bytes: number) {
    this.path = path
    this.header = read.header!
    const { secrets, redact = [] } = this.header
    this.redaction = { keepSecrets: secrets === 'kept', paths: pathsOf(redact) }
    this.calls = read.calls
    this.sessions = [...read.sessions.values()]
    this.unread = read.unread
    this.bytes = bytes
    this.#file = file
  }

  /** Reads what is where in a file. Throws a `TapeError`, or an error of the file system. */
  static async open(path: string): Promise<Tape> {
    const file = await openFile(path, 'r')
    try {
      if (!(await file.stat()).isFile()) throw new TapeError('not a regular file')
      const reader = new TapeReader()
      const bytes = await eachLine(file, (line) => reader.take(line))
      if (reader.header === undefined) throw new TapeError('it is empty')
      return new Tape(path, file, reader, bytes)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Returns the members of a line; undefined when the file has changed. */
  async read({ offset, length }: Place): Promise<TapeLine | undefined> {
    const isLong = length > MAX_PARSED
    const found = lineOf(await this.#bytesAt(offset, isLong ? MAX_START : length), isLong)
    return typeof found === 'string' ? undefined : found
  }

  /** Returns the place of a result that is too large to be parsed; undefined for others. */
  async longResult({ offset, length }: Place): Promise<{ start: number; end: number } | undefined> {
    if (length <= MAX_PARSED) return undefined
    const start = await this.#bytesAt(offset, MAX_START)
    const at = start.indexOf(RESULT)
    const tail = (await this.#bytesAt(offset + length - 16, 16)).toString('latin1').trimEnd()
    const end = offset + length - 16 + tail.length - 1
    return at < 0 ? undefined : { start: offset + at + RESULT.length, end }
  }

  /** Reads a part of the file, piece by piece. */
  async *pieces({ start, end }: { start: number; end: number }): AsyncGenerator<Buffer> {
    for (let at = start; at < end; at += PIECE) {
      yield await this.#bytesAt(at, Math.min(PIECE, end - at))
    }
  }

  async #bytesAt(offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length)
    const { bytesRead } = await this.#file.read(bytes, 0, length, offset)
    return bytes.subarray(0, bytesRead)
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

interface RawLine {
  readonly number: number
  readonly offset: number
  readonly length: number
  /** The whole line, or its beginning. */
  readonly bytes: Buffer
  readonly isLong: boolean
}

/** Reads a file line by line, and holds at most one of them; returns the size of the file. */
async function eachLine(file: FileHandle, take: (line: RawLine) => void): Promise<number> {
  // A line feed does not count.
  const splitter = new LineSplitter(MAX_PARSED + 1)
  let number = 0
  let offset = 0
  let size = 0
  let start: Buffer | undefined
  const finish = (bytes: Buffer): void => {
    number++
    const length = size - Number(bytes.at(-1) === LF)
    const isLong = length > MAX_PARSED
    if (length > 0) take({ number, offset, length, bytes: start ?? bytes, isLong })
    if (number > MAX_LINES) throw new TapeError(`it has more than ${MAX_LINES} lines`)
    offset += size
    size = 0
    start = undefined
  }
  for await (const chunk of file.createReadStream({ autoClose: false, highWaterMark: CHUNK })) {
    for (const { bytes, kind } of splitter.push(chunk as Buffer)) {
      size += bytes.length
      // Only the beginning of a long line is kept, which may come in several pieces.
      if (kind === 'long') start = NOTHING
      const missing = MAX_START - (start?.length ?? MAX_START)
      if (missing > 0) start = Buffer.concat([start!, bytes.subarray(0, missing)])
      if (bytes.at(-1) === LF) finish(bytes)
    }
  }
  const { bytes } = splitter.end() ?? {}
  size += bytes?.length ?? 0
  if (size > 0) finish(bytes ?? NOTHING)
  return offset
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
  readonly sessions = new Map<string, TapedSession>()
  readonly unread: Unread = { count: 0, firstLine: 0, firstReason: '' }
  readonly #texts = new Map<string, string>()
  /** The open calls by exchange and id, and by session and id. */
  readonly #open = new Map<string, TapedCall>()
  readonly #inExchange = new Map<number, TapedCall>()
  /** The open calls of each session, and its last one. */
  readonly #inSession = new Map<string, { readonly open: Set<TapedCall>; last?: TapedCall }>()
  readonly #tokens = new Map<string, TapedCall>()

  take(raw: RawLine): void {
    if (this.header === undefined) {
      this.header = headerOf(raw)
      return
    }
    const line = lineOf(raw.bytes, raw.isLong)
    if (typeof line === 'string') this.#skip(raw, line)
    else if (line.from === 'client') this.#fromClient(raw, line)
    else this.#fromServer(raw, line)
  }

  #skip({ number }: RawLine, reason: string): void {
    if (this.unread.count++ > 0) return
    this.unread.firstLine = number
    this.unread.firstReason = reason
  }

  #fromClient({ number, offset, length }: RawLine, line: TapeLine): void {
    const { method, id, exchange, session = '', params, at } = line
    // Notifications, and responses to the server, are not compared.
    if (method === undefined || id === undefined) return
    const call: TapedCall = {
      line: number,
      offset,
      length,
      at,
      exchange,
      session: this.#text(session),
      method: this.#text(method),
      name: this.#text(nameOf(method, params)),
      key: keyOf(method, params),
      isPage: fieldsOf(params)['cursor'] !== undefined,
      responses: NONE,
      pushed: undefined,
      isDone: false,
    }
    this.calls.push(call)
    const known = this.#sessionOf(call.session)
    known.open.add(call)
    known.last = call
    const found = this.sessions.get(session) ?? { id: call.session, calls: 0 }
    this.sessions.set(call.session, found)
    if (NAMED.has(method)) found.calls++
    this.#inExchange.set(exchange, call)
    this.#open.set(openKey(exchange, id), call)
    if (session !== '') this.#open.set(openKey(session, id), call)
    const { progressToken } = fieldsOf(fieldsOf(params)['_meta'])
    if (progressToken !== undefined) this.#tokens.set(openKey(session, progressToken), call)
  }

  #fromServer({ number, offset, length }: RawLine, line: TapeLine): void {
    const { session = '', method, id, at, exchange } = line
    const ends = method === undefined
    const taped = { line: number, offset, length, at, ends }
    const call = ends ? this.#ended(line) : this.#during(line)
    if (call === undefined) {
      const { last } = this.#sessionOf(session)
      if (last !== undefined) (last.pushed ??= []).push(taped)
      return
    }
    // An array that grows holds room for many more.
    if (call.responses === NONE) call.responses = [taped]
    else call.responses.push(taped)
    if (!ends) return
    call.isDone = true
    this.#open.delete(openKey(exchange, id))
    this.#open.delete(openKey(session, id))
    this.#inExchange.delete(call.exchange)
    this.#sessionOf(call.session).open.delete(call)
    // The response begins the session of its request.
    if (call.method === 'initialize' && session !== '') this.#began(call, session)
  }

  /** Returns the open call that a response or a failure ends. */
  #ended({ exchange, session = '', id }: TapeLine): TapedCall | undefined {
    if (id !== undefined && id !== null) {
      return this.#open.get(openKey(exchange, id)) ?? this.#open.get(openKey(session, id))
    }
    return this.#inExchange.get(exchange)
  }

  /** Returns the open call that a notification or a request of the server belongs to. */
  #during({ exchange, session = '', via, params }: TapeLine): TapedCall | undefined {
    const { progressToken } = fieldsOf(params)
    if (progressToken !== undefined) {
      const call = this.#tokens.get(openKey(session, progressToken))
      if (call !== undefined) return call.isDone ? undefined : call
    }
    if (via !== 'stream') return this.#inExchange.get(exchange)
    const { open, last } = this.#sessionOf(session)
    return last?.isDone === false ? last : open.values().next().value
  }

  #began(call: TapedCall, session: string): void {
    const known = this.#sessionOf(session)
    known.last ??= call
    const found = this.sessions.get(session) ?? { id: session, calls: 0 }
    this.sessions.set(session, found)
    ;(call as { session: string }).session = this.#text(session)
  }

  #sessionOf(session: string): { readonly open: Set<TapedCall>; last?: TapedCall } {
    const found = this.#inSession.get(session)
    if (found !== undefined) return found
    const created = { open: new Set<TapedCall>() }
    this.#inSession.set(session, created)
    return created
  }

  /** Returns one copy of equal texts, most of which are few. */
  #text(text: string): string {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    // A slice would keep its whole line alive.
    const own = Buffer.from(text).toString()
    this.#texts.set(own, own)
    return own
  }
}

function openKey(place: number | string, id: unknown): string {
  return `${place} ${JSON.stringify(id)}`
}

function headerOf({ bytes, isLong }: RawLine): TapeHeader {
  // Unlike `toString`, leaves out a BOM.
  const text = isLong ? '' : new TextDecoder().decode(bytes)
  const value = parsedJson(text)
  if (value === undefined) throw new TapeError('not a valid tape: the first line is not valid JSON')
  const { tape, secrets, redact = [] } = fieldsOf(value)
  if (typeof tape !== 'number')
    throw new TapeError('not a valid tape: the first line is missing the key "tape"')
  if (tape !== TAPE_VERSION) {
    throw new TapeError(
      `it has version ${quoted(String(tape))}, and this program reads ${TAPE_VERSION}`,
    )
  }
  const isKnown = secrets === 'redacted' || secrets === 'kept'
  if (!isKnown || !Array.isArray(redact) || redact.some((each) => typeof each !== 'string')) {
    throw new TapeError('its first line has an invalid "secrets" or "redact"')
  }
  return value as TapeHeader
}
