import { EventEmitter, once } from 'node:events'
import type { RecordedHead } from '../recorded-fetch.ts'

/** The transport between a client and a server. */
export type ClientTransport = 'streamableHttp' | 'sse' | 'stdio'

/** The options of a call beyond its arguments. */
export interface CallOptions {
  readonly onprogress?: (progress: unknown) => void
  readonly signal?: AbortSignal
  /** Milliseconds. */
  readonly timeout?: number
  readonly meta?: Record<string, unknown>
}

/** One face for the clients of all SDKs, so that they can play the same scenario. */
export interface InteropClient {
  /** The log messages and the server's own requests, in the order they came. */
  readonly received: Received
  handshake(): unknown
  listTools(): Promise<unknown>
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<unknown>
  getPrompt(name: string): Promise<unknown>
  readResource(uri: string): Promise<unknown>
  setLevel(level: 'debug' | 'error'): Promise<unknown>
  /** Ends the session at the server, where there is one. */
  endSession(): Promise<void>
  close(): Promise<void>
  /** The heads of the responses so far. */
  heads(): RecordedHead[]
  /** Resolves when no request waits for its head any more. */
  settled(): Promise<void>
}

/**
 * Opens a client; `url` is where the server or a proxy before it listens, or, for stdio, the
 * command line as JSON.
 */
export type OpenClient = (url: string, transport: ClientTransport) => Promise<InteropClient>

/** The responses that stand in for those of a user, a model and a file system. */
export const clientResponses = {
  elicitation: {
    action: 'accept' as const,
    content: { name: 'Ada', city: 'London', check: true, integer: 7 },
  },
  sampling: {
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'a completion' },
    model: 'no model',
    stopReason: 'endTurn' as const,
  },
  roots: { roots: [{ uri: 'file:///srv/data', name: 'data' }] },
}

/** The capabilities that the clients declare. */
export const clientCapabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } }

/** Returns the command of a server that speaks stdio. */
export function commandOf(url: string): { readonly command: string; readonly args: string[] } {
  const [command = '', ...args] = JSON.parse(url) as string[]
  return { command, args }
}

/** Collects what a server sends of its own accord. */
export class Received {
  readonly all: { readonly method: string; readonly params: unknown }[] = []
  readonly #events = new EventEmitter()

  add(method: string, params: unknown): void {
    this.all.push({ method, params })
    this.#events.emit('added')
  }

  /** Resolves when this many messages with this method have come, now or before. */
  async until(method: string, count = 1): Promise<void> {
    while (this.all.filter((message) => message.method === method).length < count) {
      await once(this.#events, 'added', { signal: AbortSignal.timeout(10_000) })
    }
  }
}

/** Turns a promise into what a test can compare, whichever way it ends. */
export async function outcome(promise: Promise<unknown>): Promise<unknown> {
  try {
    return { result: await promise }
  } catch (error) {
    const { name, code, message, data, status } = error as Error & Record<string, unknown>
    return { error: { name, code, message, data, status } }
  }
}
