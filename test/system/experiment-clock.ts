import type { ExperimentEvent } from '../../packages/experiments/src/experiment/context.ts'

/** The moment of an experiment at which a call comes. */
export interface Moment {
  /** The index of the stage; -1 before the stages, Infinity after them. */
  readonly stage: number
  /** Milliseconds since the start of the stage; 0 before the stages and after them. */
  readonly sinceStage: number
  /** Milliseconds since the rollback; 0 before it. */
  readonly sinceRollback: number
  readonly call: number
}

/** Follows the events of an experiment, and returns the moment of a call. */
export class ExperimentClock {
  #stage = -1
  #began = 0
  #rolledBack = 0

  see(event: ExperimentEvent): void {
    if (event.kind === 'phase') {
      if (event.stage !== undefined) {
        this.#stage = event.stage.index
        this.#began = performance.now()
      } else if (this.#stage >= 0) this.#leave()
    } else if (event.kind === 'rolled-back' || event.kind === 'seen') this.#leave()
  }

  moment(call: number): Moment {
    const now = performance.now()
    const stage = this.#stage
    return {
      stage,
      sinceStage: stage >= 0 && stage < Infinity ? now - this.#began : 0,
      sinceRollback: stage === Infinity ? now - this.#rolledBack : 0,
      call,
    }
  }

  #leave(): void {
    if (this.#stage === Infinity) return
    this.#stage = Infinity
    this.#rolledBack = performance.now()
  }
}
