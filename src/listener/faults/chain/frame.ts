import type { Message } from '../../../mcp/json-rpc.ts'
import type { Frame, InjectedReply } from '../../../filters/fault.ts'

/** A part of a response as the app sent it. */
export interface AppFrame extends Frame {
  /** The id of the event, which a replacement must keep, because clients resume by it. */
  readonly eventId: string | undefined
  /** The messages of an event that has several. */
  readonly batch?: readonly Message[]
}

export function appFrame(
  kind: Frame['kind'],
  raw: Uint8Array,
  message: Message | undefined,
  last: boolean,
  eventId?: string,
): AppFrame {
  return { kind, raw, message, last, eventId }
}

/** A frame that skips the rest of the chain: a fault's reply, or unreadable bytes. */
export class SealedFrame {
  /** Undefined for bytes that are forwarded unchanged. */
  readonly reply: InjectedReply | undefined
  readonly raw: Uint8Array
  readonly eventId: string | undefined
  /** False when the next frame continues the same event. */
  readonly ends: boolean

  private constructor(
    reply: InjectedReply | undefined,
    raw: Uint8Array,
    eventId: string | undefined,
    ends: boolean,
  ) {
    this.reply = reply
    this.raw = raw
    this.eventId = eventId
    this.ends = ends
  }

  /** Creates a frame that replaces another one by a reply. */
  static instead(of: Frame | UnreadFrame, reply: InjectedReply): SealedFrame {
    // A frame that a fault has changed keeps the id, although it is not an `AppFrame`.
    const { eventId } = of as Partial<AppFrame>
    return new SealedFrame(reply, of.raw, eventId, true)
  }

  /** Creates a frame for a part of an event that is too large to buffer. */
  static piece(raw: Uint8Array, ends: boolean): SealedFrame {
    return new SealedFrame(undefined, raw, undefined, ends)
  }
}

/**
 * Bytes without fields, such as a comment: faults do not see them, and they keep their position.
 */
export class QuietFrame {
  readonly raw: Uint8Array

  constructor(raw: Uint8Array) {
    this.raw = raw
  }
}

/** A response that no fault can read; a fault may replace it as a whole. */
export class UnreadFrame extends QuietFrame {}

/** A frame in the chain of a call. */
export type ChainFrame = Frame | SealedFrame | QuietFrame

/** The frames between two faults. */
export type FrameFlow = AsyncIterator<ChainFrame, undefined>

/** Returns true for frames that faults see. */
export function isOpen(frame: ChainFrame): frame is Frame {
  return !(frame instanceof SealedFrame) && !(frame instanceof QuietFrame)
}
