import type { Call } from '../../../mcp/call.ts'
import { isExactId } from '../../../mcp/reply.ts'
import type { Verdict } from '../../../filters/fault.ts'
import type { CallFaults } from '../call-faults.ts'
import type { NotApplicableReason } from '../fault-events.ts'
import type { PushedCall, PushChannel } from './pushed-call.ts'
import { Stop } from '../chain/stop.ts'

/** Configures the calls of an exchange that are answered on other connections. */
export interface PushedOptions {
  readonly session: string
  readonly onResponded?: ((call: Call | undefined) => void) | undefined
}

interface Pushed extends PushedCall {
  readonly stop: Stop
}

/**
 * Tracks the calls of one exchange that are answered on other connections, until they are settled.
 */
export class PushedCalls {
  readonly #push: PushChannel
  readonly #options: PushedOptions
  readonly #onEnd: (faults: CallFaults) => void
  readonly #pushed = new Map<CallFaults, Pushed>()

  /** `onEnd` is called when a call's faults have ended. */
  constructor(push: PushChannel, options: PushedOptions, onEnd: (faults: CallFaults) => void) {
    this.#push = push
    this.#options = options
    this.#onEnd = onEnd
  }

  has(faults: CallFaults): boolean {
    return this.#pushed.has(faults)
  }

  /**
   * Lets the call's faults await the response on a stream; returns the reason when that is
   * impossible.
   */
  arm(faults: CallFaults): NotApplicableReason | undefined {
    const stop = new Stop()
    const call = faults.call!
    const pushed: Pushed = {
      call,
      faults,
      stop,
      check: (verdict) => checkPushedVerdict(call, verdict),
      responded: () => this.#options.onResponded?.(call),
      wake: () => stop.abort(),
      // Deferred, because the observer of the stream may settle the call first.
      lost: () => queueMicrotask(() => this.#lost(pushed)),
    }
    const reason = this.#push.arm(this.#options.session, pushed)
    if (reason !== undefined) return reason
    this.#pushed.set(faults, pushed)
    if (faults.elsewhere) faults.stop = stop
    else faults.restart(stop)
    faults.elsewhere = true
    return undefined
  }

  /** Releases a settled call; returns false when it is not answered on another connection. */
  release(faults: CallFaults): boolean {
    const pushed = this.#pushed.get(faults)
    if (pushed === undefined) return false
    this.#pushed.delete(faults)
    this.#push.release(this.#options.session, pushed, () => {
      this.#onEnd(faults)
      pushed.stop.abort()
    })
    return true
  }

  #lost(pushed: Pushed): void {
    const { faults, stop } = pushed
    if (this.#pushed.get(faults) !== pushed) return
    this.#pushed.delete(faults)
    this.#push.release(this.#options.session, pushed, () => undefined)
    faults.elsewhere = false
    const reason = this.arm(faults)
    if (reason !== undefined) {
      faults.elsewhere = true
      faults.leaveResponse(reason)
    }
    stop.abort()
  }
}

/** Returns the reason for which a verdict cannot be carried out on a shared stream. */
function checkPushedVerdict(call: Call, verdict: Verdict): NotApplicableReason | undefined {
  switch (verdict.kind) {
    case 'edit':
    case 'copies':
      return 'already_sent'
    case 'reset':
      return 'shared_stream'
    case 'respond':
      if (verdict.reply.kind === 'http') return 'head_sent'
      return isExactId(call.id) ? undefined : 'inexact_id'
    case 'continue':
    case 'hang':
      break
  }
  return undefined
}
