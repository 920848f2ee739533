import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { endingAfter } from '../base/deadline.ts'
import { Fifo } from '../base/fifo.ts'
import { inThread } from '../base/in-thread.ts'
import type { CountLines } from './call-log.ts'
import type { Logger } from './log.ts'
import { pathsOf, type Redaction } from './redact.ts'
import {
  TAPE_VERSION,
  type TapeHeader,
  type TapeJob,
  type TapeLine,
  tapeLines,
} from './tape-line.ts'

/** Configures the recording of messages. */
export interface TapeOptions {
  readonly path: string
  /** True to replace a file. */
  readonly force: boolean
  readonly maxBytes: number
  readonly keepSecrets: boolean
  /** JSON Pointers. */
  readonly redact: readonly string[]
}

/** The messages that wait; more than these end the recording. */
const MAX_WAITING = 32 * 1024 * 1024
const MAX_BETWEEN_CALLS = 64 * 1024
const THREAD_MS = 60_000
const CLOSE_MS = 3_000
/** Memory of a line that waits in addition to its text. */
const LINE = 256
const TOO_SLOW = 'writing to the file is too slow'
const NOTE =
  'arguments and results are kept in clear text; values that look like secrets are replaced by [redacted], unless secrets are kept'
const { O_WRONLY, O_CREAT, O_EXCL, O_TRUNC, O_NOFOLLOW, O_NONBLOCK } = constants
const COMPILED = import.meta.url.endsWith('.js')
  ? new URL('../telemetry/tape-worker.js', import.meta.url)
  : undefined

type Recording = TapeOptions & { readonly logger: Logger; readonly count: CountLines }

type Waiting = Omit<TapeJob, 'redaction'>

/** Records messages in a file. Calls never wait: a recording that cannot keep up ends. */
export class TapeRecorder {
  readonly #options: Recording
  readonly #redaction: Redaction
  readonly #file: FileHandle
  readonly #startedAt = performance.now()
  readonly #waiting = new Fifo<Waiting>()
  readonly #stop = new AbortController()
  #bytesWaiting = 0
  #bytes = 0
  #exchanges = 0
  #ended: string | undefined
  #writing: Promise<void> | undefined

  private constructor(file: FileHandle, options: Recording) {
    this.#file = file
    this.#options = options
    this.#redaction = { keepSecrets: options.keepSecrets, paths: pathsOf(options.redact) }
  }

  /** Creates the file. Rejects when there is one, without `force`. */
  static async open(options: Recording, squall: string): Promise<TapeRecorder> {
    const { path, force, keepSecrets, redact, logger } = options
    const flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | (force ? O_TRUNC : O_EXCL)
    const file = await open(path, flags, 0o600)
    await file.chmod(0o600)
    const tape = new TapeRecorder(file, options)
    const secrets = keepSecrets ? 'kept' : 'redacted'
    const recordedAt = new Date().toISOString()
    const own = { squall, recordedAt, note: NOTE, secrets, redact } as const
    const header: TapeHeader = { tape: TAPE_VERSION, ...own }
    await tape.#write(`${JSON.stringify(header)}\n`, 0)
    logger.warn({ path, values: secrets }, 'recording arguments and results in clear text')
    return tape
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined
  }

  /** Counts messages that are not recorded. */
  drop(messages: number): void {
    this.#options.count('dropped', messages)
  }

  exchange(): number {
    return ++this.#exchanges
  }

  /** Records the messages in a text, or a line without one. */
  take(line: Omit<TapeLine, 'at'>, text?: string): void {
    const size = sizeOf(text)
    if (this.#ended === undefined && this.#bytesWaiting + size > MAX_WAITING) this.#end(TOO_SLOW)
    if (this.#ended !== undefined) return this.drop(1)
    const at = Math.round((performance.now() - this.#startedAt) * 10) / 10
    this.#bytesWaiting += size
    this.#waiting.push({ line: { at, ...line }, text })
    this.#writing ??= this.#run().finally(() => (this.#writing = undefined))
  }

  /** Writes what waits, for a limited time, and closes the file. */
  async close(): Promise<void> {
    await inTime(this.#writing)
    if (this.#writing !== undefined && this.#ended === undefined) this.#end(TOO_SLOW)
    this.#ended ??= 'it is closed'
    // A write in progress is completed, unless the disk hangs.
    await inTime(this.#file.close())
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await nextTurn()
      let text = ''
      let lines = 0
      // A large message is written by itself: when it does not fit, it alone is dropped.
      while (this.#waiting.length > 0 && (lines === 0 || this.#isShortAfter(text))) {
        const next = this.#waiting.shift()!
        this.#bytesWaiting -= sizeOf(next.text)
        text += await this.#lines(next)
        lines++
      }
      await this.#write(text, lines)
    }
  }

  #isShortAfter(text: string): boolean {
    return text.length + sizeOf(this.#waiting.first?.text) < MAX_BETWEEN_CALLS
  }

  /** Reads the messages of a text, large ones in a worker thread so that calls continue. */
  async #lines({ line, text }: Waiting): Promise<string> {
    const job = { line, text, redaction: this.#redaction }
    if (COMPILED === undefined || (text?.length ?? 0) <= MAX_BETWEEN_CALLS) return tapeLines(job)
    const signal = endingAfter(THREAD_MS, this.#stop.signal)
    const lines = await inThread<string>(COMPILED, job, signal).catch(() => undefined)
    return lines ?? tapeLines({ ...job, text: undefined, line: { ...line, omitted: 'unreadable' } })
  }

  async #write(text: string, lines: number): Promise<void> {
    const bytes = Buffer.from(text)
    if (this.#ended === undefined && this.#bytes + bytes.length > this.#options.maxBytes)
      this.#end('the tape has reached the maximum size')
    if (this.#ended !== undefined) return this.drop(lines)
    try {
      for (let at = 0; at < bytes.length;) at += (await this.#file.write(bytes, at)).bytesWritten
      this.#bytes += bytes.length
      this.#options.count('written', lines)
    } catch (error) {
      this.drop(lines)
      this.#end((error as NodeJS.ErrnoException).code ?? String(error))
    }
  }

  #end(why: string): void {
    this.#ended = why
    this.drop(this.#waiting.length)
    this.#waiting.clear()
    this.#bytesWaiting = 0
    this.#stop.abort()
    const { path, logger } = this.#options
    logger.warn(
      { path, why, bytes: this.#bytes },
      'the recording has ended; later messages are not recorded',
    )
  }
}

function sizeOf(text: string | undefined): number {
  return LINE + (text?.length ?? 0)
}

function inTime(work: Promise<void> | undefined): Promise<void> {
  return Promise.race([work, sleep(CLOSE_MS, undefined, { ref: false })])
}
