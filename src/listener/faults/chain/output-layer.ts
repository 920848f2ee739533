import { isHeaderName } from '../../../http/header-text.ts'
import type { ResponseHead } from '../../../http/headers.ts'
import { CutResponse } from '../../../filters/lib/cut-response.ts'
import type { Output } from '../../../filters/fault.ts'
import type { ActiveFault } from '../active-fault.ts'
import { type ByteFlow, HeldTooLong, type HoldBound, OutputTap } from './output-tap.ts'

/** Rejects a head of a fault that cannot be sent. */
export class UnsendableHeadError extends Error {
  readonly code = 'SQUALL_UNSENDABLE_HEAD'
}

/** Matches line breaks, NUL, and characters of more than one byte. */
const UNSAFE = /[\r\n\0\u0100-\uffff]/

/** Rejects a head that would be split differently on the wire, or that is not a final response. */
export function checkedHead(head: ResponseHead, before: ResponseHead): void {
  if (head === before) return
  const { status, reason, headers } = head
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new UnsendableHeadError(`no status of a response: ${status}`)
  }
  if (UNSAFE.test(reason)) throw new UnsendableHeadError('a reason phrase with a line break')
  if (headers.length % 2 !== 0) throw new UnsendableHeadError('a header without a value')
  if (headers === before.headers) return
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (!isHeaderName(headers[i]!) || UNSAFE.test(headers[i + 1]!)) {
      throw new UnsendableHeadError('a header that holds a line break, or has no name')
    }
  }
}

/** An HTTP response between two faults. */
export interface OutputFlow {
  readonly head: ResponseHead
  readonly body: ByteFlow
  /** Returns true when the whole response of the upstream has passed. */
  readonly whole: () => boolean
}

/** Configures a layer. */
export interface LayerOptions {
  readonly active: ActiveFault
  /** The bound on bytes that the transform took and did not emit. */
  readonly limit: number
  /** The bound on the time for which they are held. */
  readonly bound: HoldBound | undefined
  /** Called when the client receives other bytes than the upstream sent. */
  readonly changed: () => void
  /** True when the status alone decides the outcome, so that another body does not change it. */
  readonly endsByStatus: boolean
}

/**
 * Pipes a response through one fault's transform; resolves when the head is known. A transform that
 * fails loses nothing: bytes that it took and did not emit continue unchanged, with the rest.
 */
export async function outputLayer(options: LayerOptions, input: OutputFlow): Promise<OutputFlow> {
  const { active, limit, bound, changed } = options
  const tap = new OutputTap(input.body, limit, active.owner.memory, bound)
  active.asked = true
  active.inOutput = true
  let output: Output
  try {
    output = await active.fault.onOutput!(active, { head: input.head, body: tap })
    tap.holdsHead = false
    checkedHead(output.head, input.head)
    // Now the head can carry the marker.
    active.commitClaims()
  } catch (error) {
    stopped(options, tap, error)
    return { ...input, body: untouched(tap) }
  }
  if (output.head.status !== input.head.status) changed()
  if (output.body === tap && !tap.touched) {
    // The transform does not read the body: later effects of the fault are not those of this
    // response.
    active.settle()
    active.inOutput = false
    return { ...input, head: output.head }
  }
  const body = transformed(options, tap, output.body, input.body)
  return { head: output.head, body, whole: () => tap.exhausted && input.whole() }
}

async function* transformed(
  options: LayerOptions,
  tap: OutputTap,
  output: AsyncIterable<Uint8Array>,
  input: ByteFlow,
): AsyncGenerator<Uint8Array, undefined> {
  const { active, changed, endsByStatus } = options
  let iterator: AsyncIterator<Uint8Array> | undefined
  let ended = false
  const checkChanged = (): void => {
    // A response that was held too long to be compared counts as changed when the fault took
    // effect.
    if (!tap.changed && !(tap.lost && active.changed)) return
    tap.changed = false
    if (!endsByStatus) changed()
  }
  try {
    try {
      iterator = output[Symbol.asyncIterator]()
      for (;;) {
        const step = await iterator.next()
        active.settle()
        if (step.done === true) break
        tap.gave(step.value)
        checkChanged()
        yield step.value
      }
      ended = true
      if (tap.broken === undefined) {
        tap.ended()
        checkChanged()
        return undefined
      }
    } catch (error) {
      ended = true
      stopped(options, tap, error)
    }
    yield* untouched(tap)
    return undefined
  } finally {
    // Not awaited: a sleeping fault wakes at the end of the exchange. A transform that has ended
    // needs no `return`.
    if (!ended) iterator?.return?.().catch(() => undefined)
    input.return?.().catch(() => undefined)
  }
}

/** Handles the error of a transform. An error of its input ends the response, too. */
function stopped({ active, changed }: LayerOptions, tap: OutputTap, error: unknown): void {
  if (error instanceof CutResponse && error !== tap.broken?.error) {
    active.settle()
    changed()
    throw error
  }
  if (tap.broken === undefined) {
    // Bytes beyond the bound were not kept, and are missing now.
    if (tap.lost) changed()
    if (error instanceof HeldTooLong) active.revoke('too_slow')
    else active.failed(error)
  } else active.settle()
}

/** Emits the bytes that a transform took and did not emit, and the rest of the input. */
async function* untouched(tap: OutputTap): AsyncGenerator<Uint8Array, undefined> {
  yield* tap.takeInHand()
  if (tap.broken !== undefined) throw tap.broken.error
  for (let step = await tap.rest(); step.done !== true; step = await tap.rest()) {
    yield step.value
  }
  tap.exhausted = true
  return undefined
}
