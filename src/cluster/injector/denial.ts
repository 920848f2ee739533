import type { RefusedReason } from './injection.ts'

/** Why a pod cannot be injected, thrown to where it becomes a result. */
export class Denial extends Error {
  override readonly name = 'Denial'
  readonly reason: RefusedReason

  constructor(reason: RefusedReason, wrong: string, fix: string) {
    super(`${wrong}: ${fix}`)
    this.reason = reason
  }
}
