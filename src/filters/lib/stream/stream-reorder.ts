import { isOther } from '../../../mcp/call.ts'
import { eventPicker, type EventChoice } from './event-choice.ts'
import { CONTINUE, type Frame, type FaultContext, type Frames, type Verdict } from '../../fault.ts'

/**
 * Sends each chosen event behind the one that follows it, and the last event ahead of the one
 * before it: for that, each event is held until the next one is there.
 */
export async function* reorder(
  choice: EventChoice,
  ctx: FaultContext,
  frames: Frames,
): AsyncGenerator<Frame> {
  const picks = eventPicker(choice)
  const source = frames[Symbol.asyncIterator]()
  // Messages that are not responses take their place from `overtaken`.
  if (isOther(ctx.call)) {
    yield* frames
    return
  }
  const wake = new Wake(ctx)
  let held: Frame | undefined
  let next = source.next()
  for (;;) {
    if (held !== undefined && (await wake.before(next))) {
      // Nothing is held on behalf of a removed rule.
      yield held
      held = undefined
    }
    const step = await next
    if (step.done === true) break
    const frame = step.value
    const holds = !frame.last && (picks(frame) || (choice === 'last' && isMessage(frame)))
    const swaps = isMessage(frame) && (choice !== 'last' || frame.last)
    if (held === undefined) {
      if (holds && !wake.awake) held = frame
      else yield frame
    } else if (swaps) {
      ctx.injected()
      yield frame
      yield held
      held = undefined
    } else {
      yield held
      held = undefined
      if (holds) held = frame
      else yield frame
    }
    next = source.next()
  }
  if (held !== undefined) yield held
}

/**
 * Sends a notification of the server behind the message that follows it. A request is not held: the
 * upstream may wait for its response and send nothing more.
 */
export async function overtaken(ctx: FaultContext): Promise<Verdict> {
  const { call } = ctx
  if (call?.from !== 'server' || call.kind !== 'notification') return CONTINUE
  const how = await ctx.overtaken()
  if (how === 'overtakes') ctx.withinLimit()
  if (how === 'overtaken') ctx.injected('reorder')
  return CONTINUE
}

/** Knows whether there is still something to wait for. */
class Wake {
  awake = false
  #wake: ((awake: boolean) => void) | undefined

  constructor(ctx: FaultContext) {
    void this.#until(ctx.retired())
  }

  /**
   * Resolves with the event: false when it is there, true when nothing is to wait for it any more.
   */
  before(event: Promise<unknown>): Promise<boolean> {
    if (this.awake) return Promise.resolve(true)
    return new Promise((resolve) => {
      this.#wake = resolve
      const there = (): void => resolve(false)
      event.then(there, there)
    })
  }

  async #until(retired: Promise<void>): Promise<void> {
    await retired
    this.awake = true
    this.#wake?.(true)
  }
}

function isMessage({ kind, message }: Frame): boolean {
  return kind === 'event' && message !== undefined
}
