import { CutResponse } from '../../../filters/lib/cut-response.ts'
import type { Output } from '../../../filters/fault.ts'
import type { ResponseHead } from '../../../http/headers.ts'
import type { FaultTurn } from './fault-turn.ts'
import { checkedHead } from './checked-head.ts'
import { HeldTooLong, OutputTap, type ByteFlow, type HoldBound } from './output-tap.ts'

/** A response between two faults. */
export interface OutputFlow {
  readonly head: ResponseHead
  readonly body: ByteFlow
  /** True when all of the app's response has gone through. */
  readonly whole: () => boolean
}

/** What a layer works with. */
export interface LayerSetting {
  readonly turn: FaultTurn
  /** Bytes that a transform took and has not given are kept up to this many. */
  readonly limit: number
  /** … and for so long while more is waited for. */
  readonly bound: HoldBound
  /** The client gets something else than the app sent. */
  readonly changed: () => void
  /** The status alone says how a call ends: another body makes no difference to that. */
  readonly endsByStatus: boolean
}

/**
 * Leads a response through one fault's transform. Resolves with the head when it is known. A transform
 * that fails loses nothing: what it took and did not pass on goes on as it came, and so does the rest.
 */
export async function outputLayer(setting: LayerSetting, input: OutputFlow): Promise<OutputFlow> {
  const { turn, limit, bound, changed } = setting
  const tap = new OutputTap(input.body, limit, turn.memory, bound)
  turn.heard = true
  turn.inOutput = true
  let output: Output
  try {
    const transform = turn.fault.onOutput!(turn.context)
    output = await transform({ head: input.head, body: tap })
    tap.holdsHead = false
    checkedHead(output.head, input.head)
    // In time for the head to carry the mark.
    turn.tell()
  } catch (error) {
    stopped(setting, tap, error)
    return { ...input, body: untouched(tap) }
  }
  if (output.head.status !== input.head.status) changed()
  if (output.body === tap && !tap.touched) {
    // The body is not for it: what it does from here on is not done by the response's head.
    turn.settle()
    turn.inOutput = false
    return { ...input, head: output.head }
  }
  const body = transformed(setting, tap, output.body, input.body)
  return { head: output.head, body, whole: () => tap.exhausted && input.whole() }
}

async function* transformed(
  setting: LayerSetting,
  tap: OutputTap,
  output: AsyncIterable<Uint8Array>,
  input: ByteFlow,
): AsyncGenerator<Uint8Array, undefined> {
  const { turn, changed, endsByStatus } = setting
  let iterator: AsyncIterator<Uint8Array> | undefined
  let over = false
  const told = (): void => {
    // A response that a fault held too long to compare counts as changed if the fault took effect.
    if (!tap.changed && !(tap.lost && turn.changed)) return
    tap.changed = false
    if (!endsByStatus) changed()
  }
  try {
    try {
      iterator = output[Symbol.asyncIterator]()
      for (;;) {
        const step = await iterator.next()
        turn.settle()
        if (step.done === true) break
        tap.gave(step.value)
        told()
        yield step.value
      }
      over = true
      if (tap.broken === undefined) {
        tap.ended()
        told()
        return undefined
      }
    } catch (error) {
      over = true
      stopped(setting, tap, error)
    }
    yield* untouched(tap)
    return undefined
  } finally {
    // Not waited for: what a fault still holds wakes up with the end of the exchange. A transform that
    // has ended by itself has nothing to be closed.
    if (!over) iterator?.return?.().catch(() => undefined)
    input.return?.().catch(() => undefined)
  }
}

/** A transform threw. What ended its input ends it too, whatever it made of that. */
function stopped({ turn, changed }: LayerSetting, tap: OutputTap, error: unknown): void {
  if (error instanceof CutResponse && error !== tap.broken?.error) {
    turn.settle()
    changed()
    throw error
  }
  if (tap.broken === undefined) {
    // The bytes that were held too long to be kept are missing now.
    if (tap.lost) changed()
    if (error instanceof HeldTooLong) turn.revoke('too_slow')
    else turn.failed(error)
  } else turn.settle()
}

/** What a transform took and did not pass on, and all that follows. */
async function* untouched(tap: OutputTap): AsyncGenerator<Uint8Array, undefined> {
  yield* tap.takeInHand()
  if (tap.broken !== undefined) throw tap.broken.error
  for (let step = await tap.rest(); step.done !== true; step = await tap.rest()) {
    yield step.value
  }
  tap.exhausted = true
  return undefined
}
