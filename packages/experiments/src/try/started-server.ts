import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { originGuard } from '#admin-api'
import { type Fields, fieldsOf, oneLine, readUpTo } from '#base'
import { LineSplitter } from '#sidecar'

const MAX_BODY = 16 * 1024 * 1024
const MAX_LINE = 256 * 1024 * 1024
const MAX_LINES = 20
/** The longest wait for a server that was asked to end, in milliseconds. */
const GRACE_MS = 2_500
const LOCAL_URL = /\bhttps?:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):\d+[\w./-]*/gi
const PORT = /\bport\W{1,3}(\d{2,5})\b/gi
const UNKNOWN = { error: { code: -32601, message: 'Method not found' } }
const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'squall-try', version: '1' },
}

/** Runs a command that may speak stdio or listen on HTTP, and finds out which. */
export class StartedServer {
  /** Resolves with how the server ended. */
  readonly ended: Promise<string>
  /** The last lines that the server printed. */
  readonly lines: string[] = []
  /** The addresses on this machine that the server printed. */
  readonly addresses = new Set<string>()
  /** The response to `initialize` of a server that speaks stdio. */
  initialized: Fields | undefined
  isEnding = false
  readonly #child: ChildProcess
  readonly #waiting = new Map<unknown, (response: Fields) => void>()
  #id = 0

  constructor(command: readonly string[], env: NodeJS.ProcessEnv) {
    // It ends all processes of the server, also when this process is killed. Apart from the
    // terminal, Ctrl-C does not end it before the sidecar.
    const args = [process.argv[1]!, 'stdio', '--log-level', 'error', '--', ...command]
    const child = spawn(process.execPath, args, { env, detached: true })
    child.stdin.on('error', () => undefined)
    eachLine(child.stdout, (line) => this.#read(line))
    eachLine(child.stderr, (line) => this.#note(line))
    this.#child = child
    this.ended = once(child, 'close').then(([code, signal]) => `${signal ?? `exit code ${code}`}`)
    void this.#initialize()
  }

  /** Gives a server that speaks stdio an address of Streamable HTTP on a free port. */
  listen(): Server {
    return createServer((request, response) => {
      response.on('error', () => undefined)
      this.#respond(request, response).catch(() => response.writeHead(400).end())
    }).listen(0, '127.0.0.1')
  }

  /** Ends the server; resolves when it has ended, or has had its time. */
  async end(): Promise<void> {
    this.isEnding = true
    this.#child.stdin!.end()
    this.#child.kill('SIGTERM')
    await Promise.race([this.ended, wait(GRACE_MS, undefined, { ref: false })])
  }

  async #initialize(): Promise<void> {
    const response = await this.#ask('initialize', INITIALIZE)
    this.#send({ method: 'notifications/initialized' })
    if (response['result'] !== undefined) this.initialized = response
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (originGuard()(request.headers) !== undefined) return void response.writeHead(403).end()
    if (request.method !== 'POST') return void response.writeHead(405, { allow: 'POST' }).end()
    const bytes = await readUpTo(request, MAX_BODY)
    const { id, method, params } = fieldsOf(JSON.parse(Buffer.from(bytes).toString()))
    // Notifications name requests by the ids of one client.
    if (id === undefined) return void response.writeHead(202).end()
    const { result, error } = await this.#responseTo(String(method), params)
    const body = JSON.stringify({ jsonrpc: '2.0', id, result, error })
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  }

  async #responseTo(method: string, params: unknown): Promise<Fields> {
    if (method === 'initialize') return this.initialized!
    // The server has one session, of one protocol version.
    return method === 'server/discover' ? UNKNOWN : this.#ask(method, params)
  }

  #ask(method: string, params: unknown): Promise<Fields> {
    const id = ++this.#id
    this.#send({ id, method, params })
    return new Promise((resolve) => this.#waiting.set(id, resolve))
  }

  #send(message: object): void {
    this.#child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  #read(line: string): void {
    if (!line.includes('"jsonrpc"')) return this.#note(line)
    try {
      const message = fieldsOf(JSON.parse(line))
      const { id, method } = message
      if (method !== undefined && id !== undefined) this.#send({ id, ...UNKNOWN })
      else {
        this.#waiting.get(id)?.(message)
        this.#waiting.delete(id)
      }
    } catch {
      this.#note(line)
    }
  }

  #note(line: string): void {
    // A line that shows progress is rewritten from its start.
    for (const [each] of line.matchAll(/[^\r]+/g)) this.#noteText(each)
  }

  #noteText(line: string): void {
    const text = oneLine(stripVTControlCharacters(line), 300)
    this.lines.push(text)
    this.lines.splice(0, this.lines.length - MAX_LINES)
    const ports = [...text.matchAll(PORT)].map(([, port]) => `http://localhost:${port}`)
    for (const each of [...(text.match(LOCAL_URL) ?? []), ...ports]) {
      if (URL.canParse(each) && this.addresses.size < MAX_LINES) this.addresses.add(each)
    }
  }
}

/** Reads lines that end with a line feed alone: JSON may hold the other line separators of Unicode. */
function eachLine(output: Readable, take: (line: string) => void): void {
  const splitter = new LineSplitter(MAX_LINE)
  output.on('data', (chunk: Buffer) => {
    for (const { bytes, kind } of splitter.push(chunk)) {
      if (kind === 'line') take(bytes.toString().trimEnd())
    }
  })
  output.on('end', () => {
    const last = splitter.end()
    if (last !== undefined) take(last.bytes.toString())
  })
}
