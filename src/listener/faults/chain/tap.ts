import type { Frame } from '../../../filters/fault.ts'
import { heavyWork } from '../../event-loop.ts'
import type { ActiveFault } from './active-fault.ts'
import { type FrameFlow, QuietFrame, SealedFrame } from './frame.ts'

/** The next frame of a transform, or its error. */
type Given = { readonly step: IteratorResult<Frame> } | { readonly error: unknown }

/** The input of a transform. It outlives the transform, and ends where the chain ends. */
export class Tap implements AsyncIterableIterator<Frame> {
  /** Frames that were taken and not emitted. */
  readonly inHand: Frame[] = []
  /** A frame that ends the transform, and passes it. */
  sealed: Frame | SealedFrame | undefined
  exhausted = false
  #held = 0
  #quiet: QuietFrame[] = []
  /** The next result of the transform, if available. */
  #given: Given | undefined
  #resolve: ((given: boolean) => void) | undefined
  readonly #active: ActiveFault
  readonly #input: FrameFlow

  constructor(active: ActiveFault, input: FrameFlow) {
    this.#active = active
    this.#input = input
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Frame>> {
    // A fault that asks for more after an effect has consumed the frames that it held.
    if (this.#active.settle()) this.release()
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
        this.#notify()
        continue
      }
      const isSealed = frame instanceof SealedFrame
      // An earlier fault may have made the message larger than any that is read.
      const isTooLarge = frame.raw.length > this.#active.owner.exchangeContext.maxBody
      if (isSealed || isTooLarge) {
        if (!isSealed) this.#active.cannot('too_large')
        this.sealed = frame
        return { done: true, value: undefined }
      }
      this.inHand.push(frame)
      this.#active.taken = frame.message
      this.#held += frame.raw.length
      this.#active.owner.memory.take(frame.raw.length)
      if (frame.last) this.#active.asked = true
      // Parsing took time, and the fault may take as long.
      const heavy = heavyWork.wait(frame.raw.length)
      if (heavy !== undefined) await heavy
      return { done: false, value: frame }
    }
  }

  /** Forgets the taken frames, which were emitted or dropped. */
  release(): void {
    this.inHand.length = 0
    this.#active.owner.memory.give(this.#held)
    this.#held = 0
  }

  /** Awaits the next result of the transform. */
  await(step: Promise<IteratorResult<Frame>>): void {
    const keep = (given: Given): void => {
      this.#given = given
      this.#notify()
    }
    step.then(
      (given) => keep({ step: given }),
      (error: unknown) => keep({ error }),
    )
  }

  /** Resolves to true when the transform has a result, and to false when a comment must pass it. */
  given(): Promise<boolean> {
    return new Promise((resolve) => {
      this.#resolve = resolve
      this.#notify()
    })
  }

  /** Takes the result of the transform; throws its error. */
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

  #notify(): void {
    const resolve = this.#resolve
    if (resolve === undefined || (this.#given === undefined && this.#quiet.length === 0)) return
    this.#resolve = undefined
    resolve(this.#given !== undefined)
  }
}
