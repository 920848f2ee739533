/** The exchange is no longer a fault's to act on: what is under way passes untouched. */
export class TurnOver extends Error {
  readonly code = 'SQUALL_TURN_OVER'

  constructor() {
    super('a fault is to act no more')
  }
}

/** Given when faults are stopped: left out, each stop makes an error with a stack that nobody reads. */
export const TURN_OVER = new TurnOver()
