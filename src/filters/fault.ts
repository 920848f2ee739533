import type { Static, TSchema } from 'typebox'
import type { Call, ClientInfo } from '../mcp/call.ts'
import type { CacheBudget } from '../base/byte-budget.ts'
import type { ResponseHead } from '../http/headers.ts'
import type { Message } from '../mcp/json-rpc.ts'
import type { NotApplicableReason } from './lib/not-applicable.ts'
import type { Outlook, OutlookInput } from './lib/outlook.ts'

/**
 * A reply in place of the upstream's response. Squall adds the id of the call and the framing of
 * its transport.
 */
export type InjectedReply =
  | {
      readonly kind: 'http'
      readonly status: number
      /** Undefined asks for a short text that names the status. */
      readonly body: string | undefined
      readonly headers: Readonly<Record<string, string>>
      /** True when all calls of a batch get the reply. */
      readonly forAll?: true
    }
  | {
      readonly kind: 'rpcError'
      readonly code: number
      readonly message: string
      readonly data?: unknown
    }
  | { readonly kind: 'toolError'; readonly text: string }

/**
 * Decides how the exchange continues. After any verdict but `continue`, `edit` and `copies`, no
 * later fault is asked.
 */
export type Verdict =
  | { readonly kind: 'continue' }
  /** Sends a changed call, and headers that repeat its values. Only before the upstream has it. */
  | { readonly kind: 'edit'; readonly edit: EditCall; readonly keepsHeaders?: boolean }
  /**
   * Sends the upstream this number of copies, each with an id of its own, `spacing` ms apart, and
   * drops their responses. Only before the upstream has the call.
   */
  | { readonly kind: 'copies'; readonly copies: number; readonly spacing: number }
  /**
   * Replies in place of the upstream. With `endsSession`, the session of the call ends until the
   * rule is withdrawn: its requests are rejected as those of an unknown session, and its open
   * streams end.
   */
  | { readonly kind: 'respond'; readonly reply: InjectedReply; readonly endsSession?: true }
  /** Ends the client's connection, and refuses new ones for `refuse` milliseconds. */
  | { readonly kind: 'reset'; readonly how: 'rst' | 'fin'; readonly refuse?: number }
  | { readonly kind: 'hang' }

/** The verdict that changes nothing. */
export const CONTINUE: Verdict = { kind: 'continue' }

/** One piece of a response: an event of a stream, or a whole body. */
export interface Frame {
  readonly kind: 'event' | 'body'
  /** The bytes that the upstream sent. A frame that no fault changes is forwarded by its bytes. */
  readonly raw: Uint8Array
  /** The JSON-RPC message in the frame; undefined without one. */
  readonly message: Message | undefined
  /** True for the frame with the result or error of the call. */
  readonly last: boolean
}

/** A frame in the place of another; undefined when that frame stays. */
export type Changed = Frame | undefined | Promise<Frame | undefined>

/** The frames of a response. */
export type Frames = AsyncIterable<Frame>

/**
 * A response as HTTP. A transform receives the response of the upstream and returns the one for the
 * client:
 *
 * - The head is sent when the transform returns, and each chunk as soon as it is emitted.
 * - The chunks are the bytes on the wire, in the content coding that the head names.
 * - The transform keeps the framing headers correct, or breaks them on purpose: bytes beyond a
 *   declared length are dropped, and the connection ends after a body that is too short or has
 *   contradictory lengths.
 * - A body that ends before its source ends the response, and the transfer from the upstream.
 * - After a transform throws, the bytes that it took and did not emit are sent, and all that
 *   follow. The upstream's head is used unless the transform has returned another one.
 */
export interface Output {
  readonly head: ResponseHead
  readonly body: AsyncIterable<Uint8Array>
}

/** Edits the JSON text of a call; returns undefined when there is nothing to change. */
export type EditCall = (text: string) => string | undefined | Promise<string | undefined>

/** A value that a fault has put into a result in place of the true one. */
export interface FalseValue {
  /** The text of the value as it stands in the result: digits of a number, or the string. */
  readonly falseText: string
  readonly trueText: string
  readonly kind: 'number' | 'text'
}

/** Offers effects beyond the call. */
export interface FaultHost {
  /** Resets new connections to the listener for a time. */
  refuseConnections(ms: number): void
  /**
   * Closes the listener for a time, so that the kernel refuses new connections; undefined where no
   * TCP port is open.
   */
  readonly closePort: ((ms: number) => void) | undefined
  /** Reports later calls that contain this word. */
  watchFor(word: string): void
  /**
   * Follows false values through the later calls of the same task; false where that is not possible.
   * Without values, the injection is untracked.
   */
  falsified(values: readonly FalseValue[], onUse: 'block' | 'allow' | undefined): boolean
  /** The process of the upstream; undefined where Squall does not run it. */
  readonly server: ServerHandle | undefined
}

/** Acts on the process of an upstream that speaks stdio. */
export interface ServerHandle {
  /** Kills the process. The client's last bytes are `tail`, and Squall ends with the exit code. */
  exit(code: number, tail?: string): void
  /** Suspends the process; returns the function that lets it continue. */
  suspend(): () => void
  /**
   * Writes lines to the client, between two lines of the process. Returns false when too much
   * waits for the client already.
   */
  print(text: string): boolean
}

/** Resolves whether a waiting message of the server has changed its place on the stream. */
export type Overtaking = 'overtaken' | 'overtakes' | 'last'

/** Describes the sampled call, and offers everything that a fault may do. */
export interface FaultContext {
  /** Undefined when a rule about plain HTTP matched an exchange that carries no call. */
  readonly call: Call | undefined
  /** The id of the session; undefined without a session. */
  readonly session: string | undefined
  /** The name and version that the client sent, if any. */
  readonly client: ClientInfo | undefined
  /** Returns the value of the first request header with this lower-case name. */
  readonly header: (name: string) => string | undefined
  /** Returns the values of all request headers with this lower-case name. */
  readonly headers: (name: string) => readonly string[]
  /** A digest of the headers that identify the caller; undefined without such headers. */
  readonly caller: string | undefined
  /** Identifies the task of an agent; undefined where tasks are not watched. */
  readonly task: object | undefined
  /** Returns the `outputSchema` of the tool, if the client has listed it. */
  readonly outputSchema: () => unknown
  /** The head of the upstream's response once it begins; undefined on a stream that calls share. */
  readonly response: ResponseHead | undefined
  /** The size of the request body in bytes. */
  readonly requestBytes: number
  readonly host: FaultHost
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /**
   * Returns the memory of the fault between calls, which `make` creates on first use. The memory
   * survives a reload that leaves the rule unchanged.
   */
  readonly memory: <Memory>(make: () => Memory) => Memory
  /** Counts the messages that the fault keeps in its memory. */
  readonly cacheBudget: CacheBudget
  /**
   * Reserves memory, until the response is sent, for bytes that the fault is about to create.
   * Returns a reason, and reserves nothing, when there is not enough.
   */
  readonly reserve: (bytes: number) => NotApplicableReason | undefined
  /** Aborted when the client leaves or the sidecar drains. */
  readonly signal: AbortSignal
  /** Returns a number from 0 to below 1; the sequence is seeded by the rule and the call. */
  readonly random: () => number
  /** Waits; resolves early when the rule is withdrawn, rejects when `signal` is aborted. */
  readonly sleep: (ms: number) => Promise<void>
  /**
   * Resolves in a later iteration of the event loop. A fault awaits it between steps that take
   * milliseconds.
   */
  readonly nextLoop: () => Promise<void>
  /** Identifies the call, or else the stream, to which a message of the server belongs. */
  readonly group: object
  /**
   * Waits for the next message on the stream of a message of the server: `overtaken` when that has
   * passed, `overtakes` when another one waits for this message, `last` when there is none to wait
   * for.
   */
  readonly overtaken: () => Promise<Overtaking>
  /**
   * Resolves when the rule is withdrawn or `signal` is aborted. The fault then sends everything
   * that it holds.
   */
  readonly retired: () => Promise<void>
  /**
   * Counts the fault as injected. A fault that never calls this is counted as not applicable.
   * Throws when the fault may not act, because its rule was withdrawn or too many faults are in
   * progress. With `isLate`, the marker is for the message after the next one.
   */
  readonly injected: (effect?: string, isLate?: boolean) => void
  /** Counts the call as within the limit: the fault leaves it alone on purpose. */
  readonly withinLimit: () => void
  /** Counts the fault as not applicable for this reason, and disables it for this call. */
  readonly cannot: (reason: NotApplicableReason) => void
}

/** A fault with its parameters, created once per rule. Implements only the hooks it needs. */
export interface Fault {
  /**
   * True when an effect changes the content of the request or response: a call that is `ok` counts
   * as changed.
   */
  readonly changes?: true
  /** Called before the receiver gets a call or, without `onMessage`, any other message. */
  onRequest?(ctx: FaultContext): Verdict | Promise<Verdict>
  /** Called instead of `onRequest` for other messages than calls, before the receiver gets them. */
  onMessage?(ctx: FaultContext): Verdict | Promise<Verdict>
  /**
   * Called when the response to the call has arrived, before the client gets it. Earlier frames are
   * forwarded.
   */
  beforeResponse?(ctx: FaultContext): Verdict | Promise<Verdict>
  /**
   * Called when the response begins. Receives the frames of the upstream, and returns those for the
   * client.
   */
  onResponse?(ctx: FaultContext, frames: Frames): Frames
  /**
   * Says what `onResponse` does, where it changes at most the frame that ends the call: returns
   * another frame, or undefined. Called instead for a body, which has no other frames.
   */
  onLast?(ctx: FaultContext, frame: Frame): Changed
  /**
   * Called when the response is sent, after all other hooks of all faults. Only for responses of
   * the upstream to a single call on its own exchange: not for batches, the stream of HTTP+SSE, or
   * replies of faults.
   */
  onOutput?(ctx: FaultContext, output: Output): Output | Promise<Output>
}

/** A problem with parameters that the schema cannot express. */
export interface ParameterProblem {
  /** The keys that lead to the parameter; empty for the fault as a whole. */
  readonly path: readonly string[]
  readonly message: string
}

/** Defines a kind of fault: its name, its parameters and its effect. */
export interface FaultDefinition<Name extends string, Schema extends TSchema> {
  readonly name: Name
  /** The title of the reference page, with the words that people search for. */
  readonly title: string
  /** One line, used by `squall explain` and the reference page. */
  readonly summary: string
  /** Describes the effect on the client, in sentences for the reference page. */
  readonly clientSees: string
  /** Names the same fault in other tools, in sentences for the reference page. */
  readonly otherTools: string
  /** A rule for the reference page: a list item of `rules` in YAML, in the first column. */
  readonly example: string
  /** The parameters as written in the rules file. `create` gets them parsed and with defaults. */
  readonly schema: Schema
  /** The parameters of which exactly one is required. */
  readonly oneOf?: readonly string[]
  /** The parameters that require another one, by name. */
  readonly goesWith?: Readonly<Record<string, string>>
  /** Finds further contradictions between parameters. */
  readonly check?: (config: Static<Schema>) => readonly ParameterProblem[]
  /** Predicts the effect on a matched call, or the reason for none, for `squall explain`. */
  readonly outlook?: (config: Static<Schema>, input: OutlookInput) => Outlook
  readonly create: (config: Static<Schema>) => Fault
}

/** Gives a fault's definition its types. */
export function defineFault<const Name extends string, Schema extends TSchema>(
  definition: FaultDefinition<Name, Schema>,
): FaultDefinition<Name, Schema> {
  return definition
}
