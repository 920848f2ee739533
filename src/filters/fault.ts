import type { Static, TSchema } from 'typebox'
import type { Call, ClientInfo } from '../mcp/call.ts'
import type { Keeping } from '../base/room.ts'
import type { ResponseHead } from '../http/headers.ts'
import type { Message } from '../mcp/json-rpc.ts'
import type { NotApplicableReason } from './lib/not-applicable.ts'
import type { Outlook, OutlookSetting } from './lib/outlook.ts'

/**
 * A reply in place of the upstream's response. The pipeline adds the id, the framing and the shape of the
 * call.
 */
export type InjectedReply =
  | {
      readonly kind: 'http'
      readonly status: number
      /** Undefined asks for a short text that names the status. */
      readonly body: string | undefined
      readonly headers: Readonly<Record<string, string>>
      /** It is about more than the call: the others of a batch get it with it. */
      readonly forAll?: true
    }
  | {
      readonly kind: 'rpcError'
      readonly code: number
      readonly message: string
      readonly data?: unknown
    }
  | { readonly kind: 'toolError'; readonly text: string }

/** Decides how the exchange continues. All but the first three end the chain. */
export type Verdict =
  | { readonly kind: 'continue' }
  /**
   * The app gets the call changed: `edit` is given the call's JSON text as it came and gives the text
   * to send, or undefined where it finds nothing to change. Only before the app gets the call.
   */
  | { readonly kind: 'edit'; readonly edit: EditCall }
  /**
   * The app gets so many more copies of the call, each with an id of its own, so long after each
   * other; what it answers to them is dropped. Only before the app gets the call.
   */
  | { readonly kind: 'copies'; readonly copies: number; readonly spacing: number }
  | { readonly kind: 'respond'; readonly reply: InjectedReply }
  /** With `refuse`, new connections to the listener are refused for so many milliseconds as well. */
  | { readonly kind: 'reset'; readonly how: 'rst' | 'fin'; readonly refuse?: number }
  | { readonly kind: 'hang' }

/** The verdict that lets things take their course. */
export const CONTINUE: Verdict = { kind: 'continue' }

/** One piece of a response: an event of a stream, or a whole body. */
export interface Frame {
  readonly kind: 'event' | 'body'
  /** The bytes as the app sent them. A frame that a fault leaves alone is passed on by these. */
  readonly raw: Uint8Array
  /** The JSON-RPC message in it; undefined when it holds none. */
  readonly message: Message | undefined
  /** True for the frame that ends the call: its result or its error. */
  readonly last: boolean
}

/** The frames of a response. */
export type Frames = AsyncIterable<Frame>

/** A whole response on its way out: what the head and the bytes of the HTTP message are. */
export interface Output {
  readonly head: ResponseHead
  readonly body: AsyncIterable<Uint8Array>
}

/**
 * Turns the response as HTTP into the one that the client gets. The head is sent when this is done, and
 * then each chunk as it comes. The bytes are those of the wire: where the head names a coding, coded.
 *
 * Headers that frame the body are the transform's to keep true, or not: nothing is sent beyond a
 * declared length, and a body that falls short of one, or has one too many, ends with the connection.
 * A body that ends before its source ends the response there, and the app's transfer with it. A
 * transform that fails loses nothing: what it took and did not give is sent, and all that follows; by
 * the app's own head, unless it has given another one by then.
 */

/** Edits the JSON text of a call; undefined where there is nothing to change. */
export type EditCall = (text: string) => string | undefined | Promise<string | undefined>

/** Offers what a fault may do beyond the call that it was sampled for. */
export interface FaultHost {
  /**
   * The call's session is one that the server no longer knows, until the rule is retired: everything
   * that names it is turned away, and its open streams are closed. False where there is no session.
   */
  expireSession(): boolean
  /** New connections to the listener are refused for so many milliseconds. */
  refuseConnections(ms: number): void
  /** Later calls that contain this word are reported. */
  watchFor(word: string): void
}

/** Tells whether a message of the server that waited has changed its place on the stream. */
export type Overtaking = 'overtaken' | 'overtakes' | 'last'

/** Describes the call that a fault was sampled for, and offers all that the fault may do. */
export interface FaultContext {
  /** Undefined when a rule about plain HTTP matched an exchange that carries no call. */
  readonly call: Call | undefined
  /** As the transport knows it; undefined where there is none. */
  readonly session: string | undefined
  /** The client's name and version, when the client sent them. */
  readonly client: ClientInfo | undefined
  /** The first header of the request by this name, in lower case. */
  readonly header: (name: string) => string | undefined
  /** All headers of the request by this name, in lower case. */
  readonly headers: (name: string) => readonly string[]
  /** A digest of all that tells the caller from others; undefined where nothing says who that is. */
  readonly caller: string | undefined
  /** The head of the app's response once that begins; undefined where it is that of a shared stream. */
  readonly response: ResponseHead | undefined
  /** The size of the request body in bytes. */
  readonly requestBytes: number
  /**
   * Returns true when the rule matches the tool, prompt or resource of this name. Lists are narrowed by
   * it.
   */
  readonly means: (name: string) => boolean
  /** False when the rule asks that nothing on the wire tells of the fault. */
  readonly marked: boolean
  readonly host: FaultHost
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /**
   * Returns the fault's memory between calls, made on first use. The memory belongs to the text of the
   * rule: it survives a reload that leaves the rule unchanged.
   */
  readonly memory: <Memory>(make: () => Memory) => Memory
  /** Where what it remembers of messages is counted. */
  readonly keeping: Keeping
  /**
   * Counts so many bytes, which the fault is about to make of a message, as held until the response is
   * sent. Returns the reason where they cannot be: nothing is counted then.
   */
  readonly reserve: (bytes: number) => NotApplicableReason | undefined
  /** Aborted when the client is gone or the sidecar drains. */
  readonly signal: AbortSignal
  /** Numbers from 0 up to 1, seeded for this rule and call. */
  readonly random: () => number
  /** Waits; wakes early when the rule is retired, and rejects when `signal` is aborted. */
  readonly sleep: (ms: number) => Promise<void>
  /** Resolves when other calls have had a turn: for work that takes milliseconds, between its steps. */
  readonly turn: () => Promise<void>
  /** Identifies the call, or else the stream, to which a message of the server belongs. */
  readonly group: object
  /**
   * Waits for the next message on the stream of a message of the server: `overtaken` when that has passed,
   * `overtakes` when another one waits for this message, `last` when there is none to wait for.
   */
  readonly overtaken: () => Promise<Overtaking>
  /** Resolves when the rule is retired or `signal` is aborted: what a fault holds back is to go on then. */
  readonly retired: () => Promise<void>
  /**
   * Says that the fault took effect. One that never says so is counted as not applicable. Throws where
   * the fault may not act: its rule was taken back, or too many faults are in progress.
   */
  readonly injected: (effect?: string) => void
  /** Says that the fault leaves this call alone on purpose: it is not counted as one that could not act. */
  readonly withinLimit: () => void
  /** Says why the fault cannot act on this call: it has no further say. */
  readonly cannot: (reason: NotApplicableReason) => void
}

/** A fault with its parameters, made once per rule. It implements the hooks that it needs and no others. */
export interface Fault {
  /**
   * True where taking effect means that the call asks or brings something else than it would have: one
   * that ends well all the same is counted as changed. Waits and failures are no change.
   */
  readonly changes?: true
  /** Called before the app gets the call. */
  onRequest?(ctx: FaultContext): Verdict | Promise<Verdict>
  /** Called for a message that is no call, in the place of `onRequest`, before its receiver gets it. */
  onMessage?(ctx: FaultContext): Verdict | Promise<Verdict>
  /**
   * Called when the message that answers the call is there, which is held back until then. Frames
   * before it pass: at most those before the first message are held, never a whole stream.
   */
  beforeResponse?(ctx: FaultContext): Verdict | Promise<Verdict>
  /** Called when the response begins: takes its frames, and returns those that the client gets. */
  onResponse?(ctx: FaultContext, frames: Frames): Frames
  /**
   * Called when the response goes out, after the hooks above of all faults. Only for answers of the app
   * that belong to one call alone: not those of batches, nor what goes by the stream of HTTP+SSE. What
   * a fault has answered is no other fault's to change.
   */
  onOutput?(ctx: FaultContext, output: Output): Output | Promise<Output>
}

/** Something about a fault's parameters that their schema alone cannot say. */
export interface ParameterProblem {
  /** The parameter at fault, or a path of keys to it; empty means the fault as a whole. */
  readonly path: readonly string[]
  readonly message: string
}

/** A kind of fault: what it is called, what it takes and what it does. */
export interface FaultDefinition<Name extends string, Schema extends TSchema> {
  readonly name: Name
  /** One line, used by `squall explain` and the reference page. */
  readonly summary: string
  /** For the reference page: what the client meets, in sentences. */
  readonly meets: string
  /** For the reference page: what other tools call it, in sentences. */
  readonly elsewhere: string
  /** For the reference page: one rule that uses it, as a list item of `rules` in YAML, from its first column. */
  readonly example: string
  /** The parameters as written in the file. Its static type is what `create` gets: parsed, defaults filled in. */
  readonly schema: Schema
  /** The parameters of which exactly one is given. */
  readonly oneOf?: readonly string[]
  /** Parameters that are given beside another one only. */
  readonly goesWith?: Readonly<Record<string, string>>
  /** Finds further contradictions between parameters. */
  readonly check?: (config: Static<Schema>) => readonly ParameterProblem[]
  /** Predicts the effect on a matched call, or why there is none, for `squall explain`. */
  readonly outlook?: (config: Static<Schema>, setting: OutlookSetting) => Outlook
  readonly create: (config: Static<Schema>) => Fault
}

/** Gives a fault's definition its types. */
export function defineFault<const Name extends string, Schema extends TSchema>(
  definition: FaultDefinition<Name, Schema>,
): FaultDefinition<Name, Schema> {
  return definition
}
