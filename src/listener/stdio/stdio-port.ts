import { Socket } from 'node:net'
import { basename } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { afterReads } from '../../base/after-reads.ts'
import { telemetryWith } from '../../telemetry/telemetry.ts'
import type { PortSessions } from '../port-sessions.ts'
import type { Received } from '../layers/received.ts'
import { createStack, type PortBounds, type PortContext } from '../port-stack.ts'
import { eventsOfText } from './event-lines.ts'
import { pacedLoop } from '../../base/event-loop.ts'
import { isBlank, type LinePart, LineSplitter, mayBeMessage } from './lines.ts'
import { PipeWriter, withResolver } from './pipe-writer.ts'
import { ServerCheck } from './server-check.ts'
import { type ServerCommand, type ServerExit, ServerProcess } from './server-process.ts'
import { LineExchange, StreamExchange, TARGET } from './stdio-exchange.ts'
import { StdioUpstream } from './stdio-upstream.ts'

/** Configures the port. */
export type StdioPortOptions = PortBounds & {
  readonly server: ServerCommand
  /** The longest wait for held lines after the client's last one, in milliseconds. */
  readonly drainTimeout: number
}

export interface ClientPipes {
  readonly input: Readable
  readonly output: Writable
  /** Gets the standard error of the server. */
  readonly errors: Writable
}

/** The time for a server to end by itself, and again after SIGTERM, in milliseconds. */
const GRACE = 2_000
/** The signals that ask a server to end. */
const ENDING = new Set<NodeJS.Signals>(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'])
/** The interval of looking for the end of the parent and of the output, in milliseconds. */
const INTERVAL = 500

/** Connects one client, by the standard streams, with a server in a child process. */
export class StdioPort {
  readonly upstreamName: string
  readonly #options: StdioPortOptions
  readonly #context: PortContext
  /** Undefined where violations of the protocol are not looked for. */
  readonly #check: ServerCheck | undefined
  readonly #client: PipeWriter
  readonly #pipes: ClientPipes
  readonly #closing = new AbortController()
  readonly #open = new Set<LineExchange>()
  readonly #stream: StreamExchange
  readonly #streamEnded: Promise<void>
  /** Resolves when the client is waited for no longer. */
  readonly #abandoned: Promise<void>
  readonly #abandon: () => void
  #server: ServerProcess | undefined
  #upstream: StdioUpstream | undefined
  #exchanges: Received | undefined
  #sessions: PortSessions | undefined
  #onIdle: (() => void) | undefined
  readonly #parent = process.ppid
  /** The exit code that a fault has set. */
  #exitCode: number | undefined
  /** Resolves when a client that is gone has left no process behind; undefined before. */
  #cleared: Promise<void> | undefined
  /** The parts of the server's lines and standard error so far. */
  #parts = 0
  /** The bytes of the server that are being passed on: a long line is in many parts. */
  #chunk: Buffer | undefined
  /** The last line of the server when it has no line feed. */
  #tail: Buffer | undefined

  constructor(options: StdioPortOptions, context: PortContext, client: ClientPipes) {
    this.#options = options
    // Exchanges of HTTP are the port's own matter.
    const telemetry = telemetryWith(context.telemetry, { http: () => undefined })
    this.#context = { ...context, telemetry }
    const { server, strict, maxInFlight } = options
    this.#check = strict ? new ServerCheck(maxInFlight, context.logger) : undefined
    this.upstreamName = basename(server.command)
    this.#pipes = client
    const ended = withResolver()
    const abandoned = withResolver()
    this.#streamEnded = ended.promise
    this.#abandoned = abandoned.promise
    this.#abandon = abandoned.resolve
    this.#client = new PipeWriter(client.output, () => this.#stream.listener?.drained())
    this.#stream = new StreamExchange((bytes) => this.#client.write(bytes), ended.resolve)
  }

  /** True while the server runs. */
  get running(): boolean {
    return this.#server?.running === true
  }

  /** The violations of the protocol by the server, which are looked for with `strict`. */
  get violations(): Readonly<Record<string, number>> {
    return this.#check?.counts ?? {}
  }

  /** Starts the server. Throws a `StartError`. */
  async start(): Promise<void> {
    const server = (this.#server = await ServerProcess.start(this.#options.server))
    this.#upstream = new StdioUpstream(server.input)
    const { exchanges, sessions, push } = createStack(
      { ...this.#options, strict: false },
      this.#context,
      {
        upstream: this.#upstream,
        streamTransport: 'stdio',
        newConnections: { resetWhile: () => undefined, closePort: () => undefined },
        server: {
          exit: (code, tail) => this.#exit(server, code, tail),
          suspend: () => server.suspend(),
          print: (text) => push?.send(TARGET, eventsOfText(text), () => {}) === true,
        },
        closing: this.#closing.signal,
        serverName: 'stdio',
        now: performance.now.bind(performance),
      },
    )
    this.#exchanges = exchanges
    this.#sessions = sessions
    exchanges.handle(this.#stream)
  }

  /** Carries all messages; resolves when the server has ended and the client has its last bytes. */
  async carry(): Promise<ServerExit> {
    const server = this.#server!
    const failed = (err: unknown): void => {
      this.#context.logger.error({ err }, 'lines could not be forwarded; the server is stopped')
      this.close()
    }
    const fromServer = [this.#readServer(server).catch(failed), this.#passErrors(server.errors)]
    void this.#readClient(server).catch(failed)
    void this.#client.broken.then(() => this.#clientGone())
    const exit = await server.exited
    // Its own children may keep the pipe open.
    await Promise.race([Promise.all(fromServer), this.#silence(), this.#abandoned])
    await this.#cleared
    server.release()
    this.#upstream!.stream.end()
    await Promise.race([this.#streamEnded, this.#abandoned])
    if (this.#tail !== undefined) this.#client.write(this.#tail)
    await Promise.race([this.#client.flushed(), this.#abandoned])
    return this.#exitCode === undefined ? exit : { code: this.#exitCode, signal: null }
  }

  /** Sends a signal to the server; when it ends, a client that does not read is abandoned soon. */
  signal(signal: NodeJS.Signals): void {
    const server = this.#server
    server?.kill(signal)
    if (this.running && !ENDING.has(signal)) return
    void server?.exited.then(() => setTimeout(this.#abandon, GRACE))
  }

  sweep(): void {
    this.#sessions?.sweep()
  }

  /** Ends the server. */
  close(): void {
    this.#closing.abort()
    this.#server?.kill('SIGTERM')
    this.#sessions?.inFlight.redirects.expire(Infinity)
  }

  /** Kills the server for a fault. */
  #exit(server: ServerProcess, code: number, tail: string | undefined): void {
    this.#exitCode ??= code
    if (tail !== undefined) this.#tail ??= Buffer.from(tail)
    server.kill('SIGKILL')
  }

  async #readClient(server: ServerProcess): Promise<void> {
    const splitter = new LineSplitter(this.#options.maxBody)
    for await (const chunk of chunksOf(this.#pipes.input)) {
      const pause = pacedLoop()
      for (const part of splitter.push(chunk)) {
        await this.#fromClient(part, server)
        await pause()
      }
    }
    const tail = splitter.end()
    if (tail !== undefined) await this.#fromClient(tail, server)
    this.#upstream!.input.finish()
    this.#watchParent()
    await this.#idle()
    server.input.end()
  }

  /** Sends a line to the server; resolves when the next one may follow. */
  async #fromClient(part: LinePart, server: ServerProcess): Promise<void> {
    const { kind, bytes } = part
    this.#check?.fromClient(part)
    const isShort = kind === 'line' || kind === 'tail'
    if (isShort && mayBeMessage(bytes)) {
      if (kind === 'tail') this.#upstream!.tail = bytes
      await this.#read(bytes)
    } else {
      if (kind === 'long') this.#context.telemetry.unclassified('too_large')
      else if (isShort && !isBlank(bytes)) this.#context.telemetry.unclassified('not_json')
      this.#upstream!.input.pass(part)
    }
    await server.input.ready()
  }

  /** Passes a line to the layers; resolves when it is sent, or when a fault holds it. */
  #read(line: Buffer): Promise<void> {
    return new Promise((resolve) => {
      const exchange: LineExchange = new LineExchange(line, this.#context.memory, resolve, () => {
        this.#open.delete(exchange)
        if (this.#open.size === 0) this.#onIdle?.()
      })
      this.#open.add(exchange)
      this.#exchanges!.handle(exchange)
    })
  }

  /** Resolves when no line is held; releases held lines after the drain timeout. */
  async #idle(): Promise<void> {
    if (this.#open.size === 0) return
    const timer = setTimeout(() => {
      this.#context.faults?.rules.arming.disarm('draining', 'the client disconnected')
    }, this.#options.drainTimeout)
    await new Promise<void>((resolve) => (this.#onIdle = resolve))
    clearTimeout(timer)
  }

  async #readServer(server: ServerProcess): Promise<void> {
    const splitter = new LineSplitter(this.#options.maxBody)
    for await (const chunk of chunksOf(server.output)) {
      this.#chunk = chunk
      const pause = pacedLoop()
      for (const part of splitter.push(chunk)) {
        this.#parts++
        this.#check?.fromServer(part)
        await this.#upstream!.stream.push(part)
        await pause()
      }
      this.#chunk = undefined
    }
    const tail = splitter.end()
    if (tail !== undefined && !server.isCut) this.#check?.fromServer(tail)
    this.#tail ??= tail?.bytes
  }

  /** Passes standard error on; resolves at its end. */
  #passErrors(errors: Readable): Promise<void> {
    const { errors: output } = this.#pipes
    errors.on('data', () => this.#parts++)
    errors.pipe(output, { end: false })
    output.on('error', () => errors.destroy())
    return new Promise((resolve) => errors.once('close', resolve))
  }

  /**
   * Resolves when an ended server's pipes bring nothing more, or brought more for the grace period,
   * although the client reads. The time for the parts of one chunk does not count.
   */
  async #silence(): Promise<void> {
    let before = -1
    for (let waits = 0; before !== this.#parts && waits < GRACE / INTERVAL;) {
      before = this.#parts
      const chunk = this.#chunk
      // Bytes that came while this process stood still are read first.
      await new Promise<void>((resolve) => setTimeout(afterReads, INTERVAL, resolve))
      if (this.#client.blocked) [before, waits] = [-1, 0]
      else if (chunk === undefined || chunk !== this.#chunk) waits++
    }
  }

  /** Looks for the end of the client, whose pipe shows it only when something is written. */
  #watchParent(): void {
    // A file needs no client.
    if (!(this.#pipes.output instanceof Socket)) return
    const timer = setInterval(() => {
      if (process.ppid !== this.#parent) this.#clientGone()
      if (this.#cleared !== undefined || !this.running) clearInterval(timer)
    }, INTERVAL)
    timer.unref()
  }

  /** Ends the server of a client that is gone. */
  #clientGone(): void {
    if (this.#cleared !== undefined) return
    for (const exchange of this.#open) exchange.gone()
    this.#stream.listener?.gone()
    this.#stream.response.end()
    const server = this.#server!
    server.input.end()
    this.#cleared = server.endAfter(GRACE)
  }
}

/** Reads a pipe to its end: a pipe that breaks has ended. */
async function* chunksOf(pipe: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of pipe) yield chunk as Buffer
  } catch {
    // An error of the reader's own does not come here.
  }
}
