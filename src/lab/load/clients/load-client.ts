import type { ToolHint } from '../choose-tools.ts'
import type { ErrorKind, Origin } from '../results/result.ts'

/** A tool as its server lists it. */
export interface ToolInfo {
  readonly name: string
  readonly inputSchema: unknown
  readonly outputSchema: unknown
  readonly hint: ToolHint
}

/** The outcome of an attempt, as the client saw it. */
export interface CallResponse {
  /** The id of the JSON-RPC request, where the client knows it. */
  readonly id?: number
  readonly kind: 'ok' | ErrorKind
  /** The status of an `http` error, or the code of an `rpc` error. */
  readonly code?: number
  /** The faults that the response's markers name: `rule/fault`. */
  readonly markers: readonly string[]
  /** The error is the sidecar's own. */
  readonly fromSquall?: boolean
  readonly result?: unknown
  /** The error's message, for people. */
  readonly message?: string
  readonly retryAfterMs?: number
}

/** Limits an attempt. */
export interface CallBounds {
  readonly timeoutMs: number
  /** Aborted when the run is over. */
  readonly signal: AbortSignal
}

/** A stream that is held open. */
export interface HeldStream {
  /** Resolves when it has ended, whoever ended it. */
  readonly over: Promise<void>
  close(): void
}

/** One client with a session of its own, where the server knows sessions. */
export interface LoadClient {
  /** Makes one attempt of a call. Never rejects. */
  call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    bounds: CallBounds,
  ): Promise<CallResponse>
  /** Opens the stream on which the server speaks by itself; undefined when it has none. */
  hold(signal: AbortSignal): Promise<HeldStream | undefined>
  close(): Promise<void>
}

/** A server that can be called, and what is known of it. */
export interface Endpoint {
  readonly server: string
  readonly protocolVersion: string
  readonly tools: readonly ToolInfo[]
  /** Opens one more client. */
  connect(): Promise<LoadClient>
  close(): Promise<void>
}

/** Returns the origin of an attempt's error, as far as the response shows it. */
export function originOf({ kind, markers, fromSquall }: CallResponse): Origin {
  if (kind === 'breaker') return 'client'
  if (markers.length > 0) return 'injected'
  if (fromSquall === true) return 'squall'
  // Where nothing came, or what came was cut, there was no place for a mark.
  return kind === 'timeout' || kind === 'reset' || kind === 'incomplete' ? 'unattributed' : 'real'
}
