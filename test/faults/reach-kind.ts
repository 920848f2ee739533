import type { ServerResponse } from 'node:http'
import type { Call } from '../../src/mcp/call.ts'
import type { MatchSpec } from '../../src/rules/file/match-spec.ts'
import type { ResponseKind } from '../../src/rules/explain/response-kind.ts'

/** The exchange between client and server by which one message of a kind passes. */
export interface ReachPlay {
  /** Names the session; undefined where nothing does. */
  readonly session?: string
  /** Messages of the server in a stream before its responses, and behind them where it is open. */
  readonly says: readonly unknown[]
  /** The server says these when the stream opens, before it gets anything. */
  readonly early?: true
  /** The response of the server. */
  readonly by: 'json' | 'events' | 'push'
  /** The response to a call: its result or error by `id`; undefined for none. */
  readonly reply: (message: { id: unknown; method: string }) => object | undefined
  /** Responds in place of `reply`. */
  readonly responds?: (res: ServerResponse, id: unknown) => void
  /** The messages that the client posts, one after another. */
  readonly posts: readonly unknown[]
  /** The stream of a call ends before its response; the client resumes it by GET. */
  readonly resumes?: true
  /** The client opens a stream instead of posting. */
  readonly listens?: true
  /** The client sends a request of this method without a body. */
  readonly asks?: 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
}

/** A kind of message on one transport, on which a fault may act. */
export interface ReachKind {
  readonly message: string
  readonly transport: string
  readonly match: MatchSpec
  /** The form of response in `explain`. */
  readonly on: ResponseKind
  /** Undefined for a request without a call. */
  readonly call: Partial<Call> | undefined
  readonly batched?: true
  /** True for a message to which a server or client responds, which may be with an error. */
  readonly canFail?: true
  /** True for a response that Squall passes on without reading it. */
  readonly unread?: true
  readonly play: (how: Variant) => ReachPlay
}

/** Adds kinds on stdio, whose lines are the messages of another transport. */
export function withStdio(kinds: readonly ReachKind[], of = 'HTTP+SSE'): readonly ReachKind[] {
  const likewise = kinds.filter(({ transport }) => transport === of)
  const lines = likewise.map((kind) => ({
    ...kind,
    transport: 'stdio',
    on: kind.on === 'posted' || kind.on === 'session-stream' ? kind.on : ('stdio' as const),
    call: { ...kind.call, transport: 'stdio' as const },
  }))
  return [...kinds, ...lines]
}

/** Returns the variants in which a message of a kind is played. */
export function variantsOf({ canFail, unread }: ReachKind): readonly Variant[] {
  if (unread) return ['all']
  return canFail ? ['all', 'nothing', 'error'] : ['all', 'nothing']
}

/** With all that a fault may look for, with nothing of it, or with an error for a result. */
export type Variant = 'all' | 'nothing' | 'error'
