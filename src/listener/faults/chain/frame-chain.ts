import { heavyWork } from '../../event-loop.ts'
import type { CallFaults } from '../call-faults.ts'
import type { NotApplicableReason } from '../fault-events.ts'
import { FrameQueue } from './frame-queue.ts'
import type { ResponseCheck, FrameFlow } from './fault-chain.ts'
import type { ChainFrame } from './frame.ts'

/** Receives the frames of a chain; a promise pauses the chain. */
export type OnFrame = (frame: ChainFrame) => Promise<void> | undefined

/** Runs the events of one call through its faults. */
export class FrameChain {
  /** Settles when all frames have left the chain, or a fault has cut the response. */
  readonly done: Promise<void>
  readonly #queue: FrameQueue

  /** `uncut` is the reason for which no fault may cut the response, if any. */
  constructor(
    owner: CallFaults,
    check: ResponseCheck,
    onFrame: OnFrame,
    onDrain: () => void,
    uncut?: NotApplicableReason,
  ) {
    this.#queue = new FrameQueue(onDrain, owner.memory)
    this.done = this.#run(owner, owner.chain(this.#queue, check, uncut), onFrame)
  }

  /** The bytes that wait for the faults. */
  get size(): number {
    return this.#queue.size
  }

  get behind(): boolean {
    return this.#queue.behind
  }

  push(frame: ChainFrame): void {
    this.#queue.push(frame)
  }

  room(): Promise<void> | undefined {
    return this.#queue.room()
  }

  /** Ends the input. */
  close(): void {
    this.#queue.close()
  }

  /** Drops all waiting frames. */
  drop(): void {
    this.#queue.drop()
  }

  async #run(owner: CallFaults, flow: FrameFlow, onFrame: OnFrame): Promise<void> {
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
      const dropped = !owner.responded && owner.appResponse !== undefined
      if (dropped && !owner.stop.aborted) owner.respondedBy(undefined)
      // Frames that no fault reads must not hold up the app.
      this.#queue.drop()
    }
  }
}
