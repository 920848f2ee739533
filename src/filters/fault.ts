import type { Static, TSchema } from 'typebox'
import type { Call } from '../mcp/call.ts'
import type { Message } from '../mcp/message.ts'

/** What a fault answers in the app's place; the pipeline gives it the id, framing and shape of the call. */
export type InjectedReply =
  | {
      readonly kind: 'http'
      readonly status: number
      /** Undefined asks for a short text that names the status. */
      readonly body: string | undefined
      readonly headers: Readonly<Record<string, string>>
    }
  | {
      readonly kind: 'rpcError'
      readonly code: number
      readonly message: string
      readonly data?: unknown
    }
  | { readonly kind: 'toolError'; readonly text: string }

/** What is to become of the exchange. Anything but `continue` ends the chain. */
export type Verdict =
  | { readonly kind: 'continue' }
  | { readonly kind: 'respond'; readonly reply: InjectedReply }
  | { readonly kind: 'reset'; readonly how: 'rst' | 'fin' }
  | { readonly kind: 'hang' }

/** The verdict that lets things take their course. */
export const CONTINUE: Verdict = { kind: 'continue' }

/** One piece of an answer: an event of a stream, or a whole body. */
export interface Frame {
  readonly kind: 'event' | 'body'
  /** The bytes as the app sent them. A frame that a fault leaves alone is passed on by these. */
  readonly raw: Uint8Array
  /** The JSON-RPC message in it; undefined when it holds none. */
  readonly message: Message | undefined
  /** True for the frame that ends the call: its result or its error. */
  readonly last: boolean
}

/** Turns the frames of an answer into those that the client gets. */
export type FrameTransform = (frames: AsyncIterable<Frame>) => AsyncIterable<Frame>

/** What a fault sees of the call that it was drawn for, and all that it may do. */
export interface FaultContext {
  /** Undefined when a rule about plain HTTP hit an exchange that carries no call. */
  readonly call: Call | undefined
  /** Aborted when the client is gone or the sidecar drains. */
  readonly signal: AbortSignal
  /** Numbers from 0 up to 1, seeded for this rule and call. */
  readonly random: () => number
  /** Waits; wakes early when the rule is retired, and rejects when `signal` is aborted. */
  readonly sleep: (ms: number) => Promise<void>
  /** Says that the fault took effect. One that never says so is counted as not applicable. */
  readonly injected: (effect?: string) => void
}

/** A fault with its parameters, made once per rule. It implements the hooks that it needs and no others. */
export interface Fault {
  /** Called before the app gets the call. */
  onRequest?(ctx: FaultContext): Verdict | Promise<Verdict>
  /**
   * Called when the message that answers the call is there, which is held back until then. Frames
   * before it pass: at most those before the first message are held, never a whole stream.
   */
  onAnswer?(ctx: FaultContext): Verdict | Promise<Verdict>
  /** Called when the answer begins; its frames then flow through what is returned. */
  onResponse?(ctx: FaultContext): FrameTransform
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
  /** The parameters as written in the file. Its static type is what `create` gets: parsed, defaults filled in. */
  readonly schema: Schema
  /** Finds parameters that contradict each other. */
  readonly check?: (config: Static<Schema>) => readonly ParameterProblem[]
  readonly create: (config: Static<Schema>) => Fault
}

/** Gives a fault's definition its types. */
export function defineFault<const Name extends string, Schema extends TSchema>(
  definition: FaultDefinition<Name, Schema>,
): FaultDefinition<Name, Schema> {
  return definition
}
