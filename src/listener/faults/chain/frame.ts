import type { Message } from '../../../mcp/json-rpc.ts'
import type { Frame, InjectedReply } from '../../../filters/fault.ts'

/** A piece of a response as the app sent it. */
export class AppFrame implements Frame {
  readonly kind: Frame['kind']
  readonly raw: Uint8Array
  readonly message: Message | undefined
  readonly last: boolean
  /** The event's id, which a message put in its place has to keep: clients resume by it. */
  readonly eventId: string | undefined

  constructor(
    kind: Frame['kind'],
    raw: Uint8Array,
    message: Message | undefined,
    last: boolean,
    eventId?: string,
  ) {
    this.kind = kind
    this.raw = raw
    this.message = message
    this.last = last
    this.eventId = eventId
  }
}

/** A frame that the rest of the chain does not get: a reply that ended it, or what cannot be read. */
export class SealedFrame {
  /** Undefined for bytes that are passed on as they are. */
  readonly reply: InjectedReply | undefined
  readonly raw: Uint8Array
  readonly last: boolean
  readonly eventId: string | undefined
  /** False when the same event goes on in the next frame. */
  readonly ends: boolean

  private constructor(
    reply: InjectedReply | undefined,
    raw: Uint8Array,
    last: boolean,
    eventId: string | undefined,
    ends: boolean,
  ) {
    this.reply = reply
    this.raw = raw
    this.last = last
    this.eventId = eventId
    this.ends = ends
  }

  /** A reply in the place of a frame. */
  static instead(of: Frame | UnreadFrame, reply: InjectedReply): SealedFrame {
    // A frame that a fault has changed carries it on without being the app's own.
    const { eventId } = of as Partial<AppFrame>
    return new SealedFrame(reply, of.raw, true, eventId, true)
  }

  /** A piece of something too large to hold. */
  static piece(raw: Uint8Array, ends: boolean): SealedFrame {
    return new SealedFrame(undefined, raw, false, undefined, ends)
  }
}

/** Bytes that say nothing, such as a comment: no fault is about them, and they keep their place. */
export class QuietFrame {
  readonly raw: Uint8Array

  constructor(raw: Uint8Array) {
    this.raw = raw
  }
}

/** A response that no fault can read. It passes those that want to, and may be replaced as a whole. */
export class UnreadFrame extends QuietFrame {}

/** What flows through the chain of one call. */
export type ChainFrame = Frame | SealedFrame | QuietFrame

/** True for what faults get to see. */
export function isOpen(frame: ChainFrame): frame is Frame {
  return !(frame instanceof SealedFrame) && !(frame instanceof QuietFrame)
}
