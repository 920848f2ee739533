import type { ExperimentEvent } from '../../src/lab/experiment/context.ts'

/** The moment of an experiment at which a call comes. */
export interface Moment {
  /** The index of the stage; -1 before the stages, Infinity after them. */
  readonly stage: number
  /** Milliseconds since the rollback; 0 before it. */
  readonly sinceRollback: number
  readonly call: number
}

/** Follows the events of an experiment, and returns the moment of a call. */
export class ExperimentClock {
  #stage = -1
  #rolledBack = 0

  see(event: ExperimentEvent): void {
    if (event.kind === 'phase') {
      if (event.stage !== undefined) this.#stage = event.stage.index
      else if (this.#stage >= 0) this.#leave()
    } else if (event.kind === 'rolled-back' || event.kind === 'seen') this.#leave()
  }

  moment(call: number): Moment {
    const sinceRollback = this.#stage === Infinity ? performance.now() - this.#rolledBack : 0
    return { stage: this.#stage, sinceRollback, call }
  }

  #leave(): void {
    if (this.#stage === Infinity) return
    this.#stage = Infinity
    this.#rolledBack = performance.now()
  }
}
