import type { PushedCall } from './pushed-call.ts'
import type { PushStreams } from './push-streams.ts'
import type { Call } from '../../../mcp/call.ts'
import type { CallFaults } from '../call-faults.ts'
import type { NotApplicableReason } from '../exchange-context.ts'
import { checkVerdict } from '../request/verdicts.ts'
import type { Verdict } from '../../../filters/fault.ts'
import { Stop } from '../chain/stop.ts'

interface Options {
  /** The key of the session in the table of in-flight requests. */
  readonly session: string
  readonly onResponded?: ((call: Call) => void) | undefined
}

interface Pushed extends PushedCall {
  readonly stop: Stop
}

/**
 * Tracks the calls of one exchange whose responses come on other connections, until they are
 * settled.
 */
export class PushedCalls {
  readonly #push: PushStreams
  readonly #options: Options
  readonly #onEnd: (faults: CallFaults) => void
  readonly #pushed = new Map<CallFaults, Pushed>()

  /** `onEnd` is called when a call's faults have ended. */
  constructor(push: PushStreams, options: Options, onEnd: (faults: CallFaults) => void) {
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
  arm(faults: CallFaults, again = !faults.fate.isElsewhere): NotApplicableReason | undefined {
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
    if (again) faults.restart(stop)
    else faults.stop = stop
    faults.fate.respondElsewhere()
    return undefined
  }

  /** Releases a settled call; returns false when its response comes on its own connection. */
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
    const reason = this.arm(faults, true)
    if (reason !== undefined) faults.leaveResponse(reason)
    stop.abort()
  }
}

/** Returns the reason for which a verdict cannot be carried out on a shared stream. */
function checkPushedVerdict(call: Call, verdict: Verdict): NotApplicableReason | undefined {
  const reason = checkVerdict(call, verdict, false)
  if (reason !== undefined) return reason
  if (verdict.kind === 'reset') return 'shared_stream'
  return verdict.kind === 'respond' && verdict.reply.kind === 'http' ? 'headers_sent' : undefined
}
