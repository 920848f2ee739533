import { heavyWork } from '../../event-loop.ts'
import type { CallRun } from '../call-run.ts'
import type { NotApplicableReason } from '../fault-events.ts'
import { FrameQueue } from './frame-queue.ts'
import type { ResponseCheck, FrameFlow } from './fault-chain.ts'
import type { ChainFrame } from './frame.ts'

/** Takes what comes out of a lane; a promise asks it to wait. */
export type Onward = (frame: ChainFrame) => Promise<void> | undefined

/** The way of one call's events through its faults. */
export class FrameChain {
  /** Settles when everything that was pushed has come out, or a fault has cut the response. */
  readonly done: Promise<void>
  readonly #queue: FrameQueue

  /** `uncut` tells why no fault may cut the response here, where none may. */
  constructor(
    owner: CallRun,
    check: ResponseCheck,
    onward: Onward,
    relieved: () => void,
    uncut?: NotApplicableReason,
  ) {
    this.#queue = new FrameQueue(relieved, owner.memory)
    this.done = this.#run(owner, owner.chain(this.#queue, check, uncut), onward)
  }

  /** How many bytes wait for the faults. */
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

  /** Nothing more will be pushed. */
  close(): void {
    this.#queue.close()
  }

  /** Nothing more is wanted. */
  drop(): void {
    this.#queue.drop()
  }

  async #run(owner: CallRun, flow: FrameFlow, onward: Onward): Promise<void> {
    try {
      for (let step = await flow.next(); step.done !== true; step = await flow.next()) {
        const turn = heavyWork.wait(step.value.raw.length)
        if (turn !== undefined) await turn
        const wait = onward(step.value)
        if (wait !== undefined) await wait
      }
    } finally {
      // Not waited for: what a fault still holds wakes up with the end of the exchange.
      flow.return?.().catch(() => undefined)
      const dropped = !owner.responded && owner.appResponse !== undefined
      if (dropped && !owner.stop.aborted) owner.respondedBy(undefined)
      // What a fault had no use for must not hold up the app.
      this.#queue.drop()
    }
  }
}
