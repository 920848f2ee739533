import type { Call, Outcome } from '../mcp/call.ts'

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
export interface OpenCall {
  readonly call: Call
  /** Created for the first message beside the call on which a fault may act. */
  sideFaults: SideFaults | undefined
}

/** Returns the records of open calls. */
export function sideFaultsOf(calls: readonly OpenCall[]): readonly SideFaults[] {
  return calls.map((each) => (each.sideFaults ??= new SideFaults()))
}
