import { isOther, type Call } from '../../../mcp/call.ts'
import { isResponse } from '../../../mcp/event-message.ts'
import { eventPicker, type EventChoice } from './event-choice.ts'
import type { Frame, FaultContext, Frames } from '../../fault.ts'
import { frameText, withText } from '../json/frame-json.ts'
import { withId, wrongId, type WrongId } from '../json/message-id.ts'

/** Chosen events never arrive. */
export async function* drop(
  choice: EventChoice,
  ctx: FaultContext,
  frames: Frames,
): AsyncGenerator<Frame> {
  const picks = eventPicker(choice)
  for await (const frame of frames) {
    if (picks(frame)) ctx.injected('drop')
    else yield frame
  }
}

/** Chosen events arrive twice. */
export async function* duplicate(
  choice: EventChoice,
  ctx: FaultContext,
  frames: Frames,
): AsyncGenerator<Frame> {
  const picks = eventPicker(choice)
  for await (const frame of frames) {
    const again = picks(frame)
    // The first copy may end the call, and with it the list of its faults.
    if (again) ctx.injected('duplicate', true)
    yield frame
    // A call ends once.
    if (again) yield { ...frame, last: false }
  }
}

/**
 * The stream ends, in good order, before the first chosen event. Once for each call, which `closed`
 * remembers: a client that resumes the stream gets what is left of it, as from an upstream that
 * closed it.
 */
export async function* close(
  choice: EventChoice,
  ctx: FaultContext,
  closed: WeakSet<Call>,
  frames: Frames,
): AsyncGenerator<Frame> {
  const picks = eventPicker(choice)
  const { call } = ctx
  // Other messages and responses come on the stream of a message.
  const again = isOther(call) || (call !== undefined && closed.has(call))
  if (again && !isOther(call)) ctx.withinLimit()
  for await (const frame of frames) {
    if (!again && picks(frame)) {
      ctx.injected('close')
      if (call !== undefined) closed.add(call)
      return
    }
    yield frame
  }
}

/** The response with an id that is not the call's; undefined for another message. */
export function withWrongId(how: WrongId, ctx: FaultContext, frame: Frame): Frame | undefined {
  const { message } = frame
  if (!isResponse(message) || message.id === null) return undefined
  const text = frameText(frame)
  const changed = text === undefined ? undefined : withId(text, wrongId(message.id, how))
  if (changed === undefined) return undefined
  ctx.injected('wrongId')
  return withText(frame, changed)
}
