import type { Action } from '../agents/task.ts'
import type { Call, Outcome } from '../mcp/call.ts'
import type { FollowedCall } from './falsified/false-values.ts'

/** The outcomes by which a client gives up a call. */
const GIVEN_UP: ReadonlySet<Outcome> = new Set(['abandoned', 'timeout', 'cancelled'])

/**
 * Records that faults took effect on messages beside a call: its notifications, the server's
 * requests during it, and the client's responses to them. They may cause the outcome of the call.
 */
export class SideFaults {
  #isOfUpstream = false
  #isOfClient = false

  /**
   * Records a fault on a message. A notification reaches the client alone; the upstream waits for
   * the others.
   */
  by({ kind }: { readonly kind?: string | undefined }): void {
    if (kind === 'notification') this.#isOfClient = true
    else this.#isOfUpstream = true
  }

  /** Returns true when the faults may have caused this outcome. */
  mayCause(outcome: Outcome): boolean {
    if (this.#isOfUpstream && outcome !== 'ok') return true
    return this.#isOfClient && GIVEN_UP.has(outcome)
  }
}

/** A call without an outcome yet. */
export interface OpenCall extends FollowedCall {
  readonly settled: boolean
  /** The call among the actions of its agent; undefined while agents are not watched. */
  readonly action: Action | undefined
  /**
   * The time at which the upstream responded, where a fault may hold the response; negative before.
   */
  respondedAt: number
  /** Created for the first message beside the call on which a fault may act. */
  sideFaults: SideFaults | undefined
}

/** Returns the records of one call, or of all, unless they have ended. */
export function sideFaultsOf(calls: readonly OpenCall[], call?: Call): readonly SideFaults[] {
  return calls.flatMap((each) => {
    if (each.settled || (call !== undefined && each.call !== call)) return []
    return (each.sideFaults ??= new SideFaults())
  })
}

/** Records that the upstream has responded to one call, or to all. */
export function noteResponse(calls: readonly OpenCall[], call?: Call): void {
  const now = performance.now()
  for (const each of calls) if (call === undefined || each.call === call) each.respondedAt = now
}
