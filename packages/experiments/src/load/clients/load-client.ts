import { isSlowFault } from '#protocol'
import type { ErrorKind, LeftOutTool, Origin } from '../results/result.ts'

/** Describes the effects of a tool by its annotations. */
export type ToolHint = 'reads' | LeftOutTool['why']

export interface ToolInfo {
  readonly name: string
  /** The beginning of the description, which the server wrote. */
  readonly description?: string | undefined
  readonly inputSchema: unknown
  readonly outputSchema: unknown
  readonly hint: ToolHint
}

/** The outcome of an attempt as the client sees it. */
export interface CallResponse {
  /** The id of the JSON-RPC request, if the client knows the id. */
  readonly id?: number
  readonly kind: 'ok' | ErrorKind
  /** The status of an `http` error, or the code of an `rpc` error. */
  readonly code?: number
  /** The markers of the response: `rule/fault`. */
  readonly markers: readonly string[]
  /** The sidecar itself failed. */
  readonly fromSquall?: boolean
  readonly result?: unknown
  readonly message?: string | undefined
  readonly retryAfterMs?: number
  /** The id of the trace of the call. */
  readonly trace?: string | undefined
}

/** The header with the task of a call, by which a sidecar groups calls. */
export const TASK_HEADER = 'x-task-id'

export interface CallBounds {
  readonly timeoutMs: number
  /** Aborted at the end of the run. */
  readonly signal: AbortSignal
  /** The id of the task. */
  readonly task?: string | undefined
  /** The `traceparent` of the call. */
  readonly traceparent?: string | undefined
}

export interface HeldStream {
  /** Resolves when either side has ended the stream. */
  readonly ended: Promise<void>
  close(): void
}

/** A client with its session, if the server has sessions. */
export interface LoadClient {
  /** Sends a call once. Never rejects. */
  call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    bounds: CallBounds,
  ): Promise<CallResponse>
  /** Opens the stream for server messages; undefined when the server offers none. */
  hold(signal: AbortSignal): Promise<HeldStream | undefined>
  close(): Promise<void>
}

export interface Endpoint {
  readonly server: string
  readonly protocolVersion: string
  readonly tools: readonly ToolInfo[]
  connect(): Promise<LoadClient>
  close(): Promise<void>
}

/** The errors that faults which only take time can cause: no whole response arrives. */
const NO_RESPONSE: ReadonlySet<CallResponse['kind']> = new Set(['timeout', 'reset', 'incomplete'])

/** Returns the markers of the faults that may have caused an error, as the sidecar judges it. */
export function causesOf({ kind, markers }: CallResponse): readonly string[] {
  return NO_RESPONSE.has(kind) ? markers : markers.filter((marker) => !isSlowFault(marker))
}

/** Returns the origin of an error as far as the response shows it. */
export function originOf(response: CallResponse): Origin {
  if (response.kind === 'breaker') return 'client'
  if (response.fromSquall === true) return 'squall'
  if (causesOf(response).length > 0) return 'injected'
  // A missing or truncated response cannot carry a marker.
  return NO_RESPONSE.has(response.kind) ? 'unattributed' : 'real'
}
