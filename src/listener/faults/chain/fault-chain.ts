import { CutResponse } from '../../../filters/lib/cut-response.ts'
import type { Frame, Verdict } from '../../../filters/fault.ts'
import { heavyWork } from '../../../base/event-loop.ts'
import type { NotApplicableReason } from '../exchange-context.ts'
import type { ActiveFault } from '../active-fault.ts'
import { type ChainFrame, type FrameFlow, FrameQueue, isOpen, repliedFrame } from './frame.ts'
import type { CallInjection } from '../call-injection.ts'
import { hasEnded, respondedBy } from '../call-state.ts'

/** Returns the reason for which a verdict cannot be carried out. */
export type ResponseCheck = (verdict: Verdict) => NotApplicableReason | undefined

/** Pipes a response's frames through the faults of a call, in order. */
export function chainOf(
  { faults }: Pick<CallInjection, 'faults'>,
  input: FrameFlow,
  check: ResponseCheck,
  uncut?: NotApplicableReason,
): FrameFlow {
  let flow = input
  for (const active of faults) {
    if (active.fault.beforeResponse !== undefined) flow = responseStage(active, flow, check)
    if (active.fault.onResponse !== undefined) flow = transformStage(active, flow, uncut)
  }
  return flow
}

/** Runs the `beforeResponse` hook of a fault, which may replace the response. */
async function* responseStage(
  active: ActiveFault,
  input: FrameFlow,
  check: ResponseCheck,
): AsyncGenerator<ChainFrame, undefined> {
  const hook = active.fault.beforeResponse!.bind(active.fault)
  try {
    for (let step = await input.next(); step.done !== true; step = await input.next()) {
      const frame = step.value
      const isWhole = frame.last === true || frame.kind === 'unread'
      if (!isWhole) {
        yield frame
        continue
      }
      const verdict = await active.decide(hook, check)
      if (verdict.kind === 'reset') throw new CutResponse(verdict.how)
      // After the end of the silence the response continues unchanged.
      if (verdict.kind === 'hang') await active.hang().catch(() => undefined)
      yield verdict.kind === 'respond' ? repliedFrame(frame, verdict.reply) : frame
      active.settle()
    }
  } finally {
    await input.return?.()
  }
}

/**
 * Pipes frames through a fault's transform. After a transform fails or stops, frames that it took and
 * did not emit continue unchanged. The same holds for a transform that cuts the
 * response where `uncut` gives a reason against it.
 */
async function* transformStage(
  active: ActiveFault,
  input: FrameFlow,
  uncut?: NotApplicableReason,
): AsyncGenerator<ChainFrame, undefined> {
  const tap = new Tap(active, input)
  try {
    let output: AsyncIterator<Frame> | undefined
    try {
      output = active.fault.onResponse!(active, tap)[Symbol.asyncIterator]()
      for (;;) {
        tap.await(output.next())
        // The transform may wait for a frame while comments arrive, which pass it.
        while (!(await tap.given())) for (const quiet of tap.takeQuiet()) yield quiet
        const step = tap.takeGiven()
        active.settle()
        for (const quiet of tap.takeQuiet()) yield quiet
        if (step.done === true) break
        tap.release()
        yield step.value
      }
      output = undefined
      // A transform that ends before its input drops the rest.
      if (!tap.exhausted && tap.sealed === undefined) return
    } catch (error) {
      if (!(error instanceof CutResponse)) active.failed(error)
      else if (uncut !== undefined) active.revoke(uncut)
      else {
        active.settle()
        throw error
      }
      for (const frame of [...tap.takeQuiet(), ...tap.inHand]) yield frame
      tap.release()
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
  } finally {
    await input.return?.()
  }
}

/** Pipes one frame through the faults of a call; adds the frames that replace it to `out`. */
export async function piped(
  { faults }: Pick<CallInjection, 'faults'>,
  frame: ChainFrame,
  out: ChainFrame[],
  check: ResponseCheck,
  uncut?: NotApplicableReason,
): Promise<void> {
  let only = frame
  for (const [index, active] of faults.entries()) {
    const { fault } = active
    const isSimple = fault.onLast !== undefined && fault.beforeResponse === undefined
    if (isSimple) only = await changed(active, only)
    else if (active.readsResponse) {
      const flow = chainOf({ faults: faults.slice(index) }, alone(only), check, uncut)
      for (let step = await flow.next(); step.done !== true; step = await flow.next()) {
        out.push(step.value)
      }
      return
    }
  }
  out.push(only)
}

/** Counts a frame that a fault takes; returns false for one that is too large for it. */
function takes(active: ActiveFault, { raw, message, last }: Frame): boolean {
  const { memory, context } = active.owner
  // An earlier fault may have made the message larger than any that is read.
  if (raw.length > context.parts.maxBody) {
    active.cannot('too_large')
    return false
  }
  active.taken = message
  memory.take(raw.length)
  if (last) active.asked = true
  return true
}

/** Returns what a fault makes of the only frame of a response. */
async function changed(active: ActiveFault, frame: ChainFrame): Promise<ChainFrame> {
  if (frame.last !== true || !isOpen(frame)) return frame
  if (!takes(active, frame)) return frame
  const { length } = frame.raw
  try {
    const heavy = heavyWork.wait(length)
    if (heavy !== undefined) await heavy
    const after = active.fault.onLast!(active, frame)
    const replaced = after instanceof Promise ? await after : after
    active.settle()
    return replaced ?? frame
  } catch (error) {
    active.failed(error)
    return frame
  } finally {
    active.owner.memory.give(length)
  }
}

async function* alone(frame: ChainFrame): AsyncGenerator<ChainFrame, undefined> {
  yield frame
}

/** Receives the frames of a chain; a promise pauses the chain. */
export type OnFrame = (frame: ChainFrame) => Promise<void> | undefined

/** Queues the events of one call, and runs them through its faults. */
export class FrameChain extends FrameQueue {
  /** Settles when all frames have left the chain, or a fault has cut the response. */
  readonly done: Promise<void>

  /** `uncut` is the reason for which no fault may cut the response, if any. */
  constructor(
    owner: CallInjection,
    check: ResponseCheck,
    onFrame: OnFrame,
    onDrain: () => void,
    uncut?: NotApplicableReason,
  ) {
    super(onDrain, owner.memory)
    this.done = this.#run(owner, chainOf(owner, this, check, uncut), onFrame)
  }

  async #run(owner: CallInjection, flow: FrameFlow, onFrame: OnFrame): Promise<void> {
    try {
      for (let step = await flow.next(); step.done !== true; step = await flow.next()) {
        const heavy = heavyWork.wait(step.value.raw.length)
        if (heavy !== undefined) await heavy
        const wait = onFrame(step.value)
        if (wait !== undefined) await wait
      }
    } finally {
      // Not awaited: a sleeping fault wakes at the end of the exchange.
      flow.return?.().catch(() => undefined)
      const isDropped = !hasEnded(owner) && owner.upstreamResponse !== undefined
      if (isDropped && !owner.stop.aborted) respondedBy(owner, undefined)
      // Frames that no fault reads must not hold up the upstream.
      this.drop()
    }
  }
}

/** The next frame of a transform, or its error. */
type TransformResult = { readonly step: IteratorResult<Frame> } | { readonly error: unknown }

/** The input of a transform. It outlives the transform, and ends where the chain ends. */
export class Tap implements AsyncIterableIterator<Frame> {
  /** Frames that were taken and not emitted. */
  readonly inHand: Frame[] = []
  /** A frame that ends the transform, and passes it. */
  sealed: ChainFrame | undefined
  exhausted = false
  #held = 0
  #quiet: ChainFrame[] = []
  /** The next result of the transform, if available. */
  #given: TransformResult | undefined
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
      if (frame.kind === 'quiet' || frame.kind === 'unread') {
        this.#quiet.push(frame)
        this.#notify()
        continue
      }
      if (!isOpen(frame) || !takes(this.#active, frame)) {
        this.sealed = frame
        return { done: true, value: undefined }
      }
      this.inHand.push(frame)
      this.#held += frame.raw.length
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
    const keep = (given: TransformResult): void => {
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

  takeQuiet(): readonly ChainFrame[] {
    const quiet = this.#quiet
    if (quiet.length > 0) this.#quiet = []
    return quiet
  }

  #notify(): void {
    const resolve = this.#resolve
    if (resolve === undefined || (this.#given === undefined && this.#quiet.length === 0)) return
    this.#resolve = undefined
    resolve(this.#given !== undefined)
  }
}
