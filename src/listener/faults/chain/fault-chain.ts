import { CutResponse } from '../../../filters/lib/cut-response.ts'
import type { Frame, FrameTransform, Verdict } from '../../../filters/fault.ts'
import { heavyWork } from '../../event-loop.ts'
import type { NotApplicableReason } from '../fault-events.ts'
import type { FaultTurn } from './fault-turn.ts'
import { isOpen, QuietFrame, SealedFrame, UnreadFrame, type ChainFrame } from './frame.ts'

/** Frames on their way from one fault to the next. */
export type FrameFlow = AsyncIterator<ChainFrame, undefined>

/** Tells why a verdict cannot be carried out any more. */
export type ResponseCheck = (verdict: Verdict) => NotApplicableReason | undefined

/** Lets a fault replace the response once it is there. */
export async function* responseStage(
  turn: FaultTurn,
  input: FrameFlow,
  check: ResponseCheck,
): AsyncGenerator<ChainFrame, undefined> {
  const hook = turn.fault.beforeResponse!.bind(turn.fault)
  try {
    for (let step = await input.next(); step.done !== true; step = await input.next()) {
      const frame = step.value
      const isWhole = isOpen(frame) ? frame.last : frame instanceof UnreadFrame
      if (!isWhole) {
        yield frame
        continue
      }
      const verdict = await turn.decide(hook, check)
      if (verdict.kind === 'reset') throw new CutResponse(verdict.how)
      // When nobody waits for silence any more, the response goes on as it came.
      if (verdict.kind === 'hang') await turn.hang().catch(() => undefined)
      yield verdict.kind === 'respond' ? SealedFrame.instead(frame, verdict.reply) : frame
      turn.settle()
    }
  } finally {
    await input.return?.()
  }
}

/**
 * Leads frames through a fault's transform. A transform that fails, or has no further say, loses
 * nothing: what it took and did not pass on goes on as it came. Nor does one that wants to cut the
 * response where `uncut` tells why that cannot be.
 */
export async function* transformStage(
  turn: FaultTurn,
  input: FrameFlow,
  uncut?: NotApplicableReason,
): AsyncGenerator<ChainFrame, undefined> {
  try {
    yield* transformed(turn, new Tap(turn, input), input, uncut)
  } finally {
    await input.return?.()
  }
}

async function* transformed(
  turn: FaultTurn,
  tap: Tap,
  input: FrameFlow,
  uncut: NotApplicableReason | undefined,
): AsyncGenerator<ChainFrame, undefined> {
  let output: AsyncIterator<Frame> | undefined
  try {
    const transform: FrameTransform = turn.fault.onResponse!(turn.context)
    output = transform(tap)[Symbol.asyncIterator]()
    for (;;) {
      tap.await(output.next())
      // The transform may wait for more while a comment is there that is not for it.
      for (let there = await tap.given(); !there; there = await tap.given()) yield* tap.takeQuiet()
      const step = tap.takeGiven()
      turn.settle()
      yield* tap.takeQuiet()
      if (step.done === true) break
      tap.letGo()
      yield step.value
    }
    // A transform that ends before its input wants the rest not to be sent.
    if (!tap.exhausted && tap.sealed === undefined) return
  } catch (error) {
    if (!(error instanceof CutResponse)) turn.failed(error)
    else if (uncut !== undefined) turn.revoke(uncut)
    else {
      turn.settle()
      throw error
    }
    yield* tap.takeQuiet()
    yield* tap.inHand
    tap.letGo()
  } finally {
    await output?.return?.()
  }
  if (tap.sealed !== undefined) yield tap.sealed
  if (tap.exhausted) return
  for (;;) {
    const step = await input.next()
    if (step.done === true) return
    yield step.value
  }
}

/** The frame that a transform returned, or the error that it threw. */
type Given = { readonly step: IteratorResult<Frame> } | { readonly error: unknown }

/** The input as a transform sees it: it outlives the transform, and ends where the chain has ended. */
class Tap implements AsyncIterableIterator<Frame> {
  /** Taken and not passed on yet. */
  readonly inHand: Frame[] = []
  sealed: SealedFrame | undefined
  exhausted = false
  #held = 0
  #quiet: QuietFrame[] = []
  /** The result of the transform, once it is there. */
  #given: Given | undefined
  #wanted: ((given: boolean) => void) | undefined
  readonly #turn: FaultTurn
  readonly #input: FrameFlow

  constructor(turn: FaultTurn, input: FrameFlow) {
    this.#turn = turn
    this.#input = input
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Frame>> {
    // A fault that acted and asks for more has done away with what it held.
    if (this.#turn.settle()) this.letGo()
    if (this.exhausted || this.sealed !== undefined) return { done: true, value: undefined }
    for (;;) {
      const step = await this.#input.next()
      if (step.done === true) {
        this.exhausted = true
        return step
      }
      const frame = step.value
      if (frame instanceof QuietFrame) {
        this.#quiet.push(frame)
        this.#tell()
        continue
      }
      if (frame instanceof SealedFrame) {
        this.sealed = frame
        return { done: true, value: undefined }
      }
      this.inHand.push(frame)
      this.#held += frame.raw.length
      this.#turn.memory.take(frame.raw.length)
      if (frame.last) this.#turn.heard = true
      // Reading it took time, and so will what the fault does with it.
      const turn = heavyWork.wait(frame.raw.length)
      if (turn !== undefined) await turn
      return { done: false, value: frame }
    }
  }

  /** Forgets the pieces in hand: they were passed on or dropped. */
  letGo(): void {
    this.inHand.length = 0
    this.#turn.memory.give(this.#held)
    this.#held = 0
  }

  /** The transform was asked for its next frame. */
  await(step: Promise<IteratorResult<Frame>>): void {
    const keep = (given: Given): void => {
      this.#given = given
      this.#tell()
    }
    step.then(
      (given) => keep({ step: given }),
      (error: unknown) => keep({ error }),
    )
  }

  /** Resolves with true when the transform has given something, or with false when something is to pass it. */
  given(): Promise<boolean> {
    return new Promise((resolve) => {
      this.#wanted = resolve
      this.#tell()
    })
  }

  /** Returns the result of the transform; throws the error that it threw. */
  takeGiven(): IteratorResult<Frame> {
    const given = this.#given!
    this.#given = undefined
    if ('error' in given) throw given.error
    return given.step
  }

  takeQuiet(): readonly QuietFrame[] {
    const quiet = this.#quiet
    if (quiet.length > 0) this.#quiet = []
    return quiet
  }

  return(): Promise<IteratorResult<Frame>> {
    return Promise.resolve({ done: true, value: undefined })
  }

  #tell(): void {
    const wanted = this.#wanted
    if (wanted === undefined || (this.#given === undefined && this.#quiet.length === 0)) return
    this.#wanted = undefined
    wanted(this.#given !== undefined)
  }
}
