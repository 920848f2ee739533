import type { Call } from '../../../mcp/call.ts'
import { isExactId } from '../../../mcp/reply.ts'
import type { Verdict } from '../../../filters/fault.ts'
import type { CallRun } from '../call-run.ts'
import type { NotApplicableReason } from '../fault-events.ts'
import type { PushedCall, PushChainsOf } from './pushed-call.ts'
import { Stop } from '../chain/stop.ts'

/** What an exchange tells of its calls that are answered elsewhere. */
export interface PushedSetting {
  readonly session: string
  readonly onResponded?: ((call: Call | undefined) => void) | undefined
}

interface Pushed extends PushedCall {
  readonly stop: Stop
}

/** The calls of one exchange whose responses come by other connections, each until it has been counted. */
export class PushedRuns {
  readonly #lanes: PushChainsOf
  readonly #setting: PushedSetting
  readonly #over: (run: CallRun) => void
  readonly #pushed = new Map<CallRun, Pushed>()

  /** `over` is told when a call's faults have nothing more to do. */
  constructor(lanes: PushChainsOf, setting: PushedSetting, over: (run: CallRun) => void) {
    this.#lanes = lanes
    this.#setting = setting
    this.#over = over
  }

  has(run: CallRun): boolean {
    return this.#pushed.has(run)
  }

  /** From here on the call's faults wait for its response elsewhere; the reason where they cannot. */
  arm(run: CallRun): NotApplicableReason | undefined {
    const stop = new Stop()
    const call = run.call!
    const pushed: Pushed = {
      call,
      run,
      stop,
      check: (verdict) => unfit(call, verdict),
      responded: () => this.#setting.onResponded?.(call),
      wake: () => stop.abort(),
      // Later, because whoever watches the stream may yet count the call as over with it.
      lost: () => queueMicrotask(() => this.#lost(pushed)),
    }
    const reason = this.#lanes.arm(this.#setting.session, pushed)
    if (reason !== undefined) return reason
    this.#pushed.set(run, pushed)
    if (run.elsewhere) run.stop = stop
    else run.renew(stop)
    run.elsewhere = true
    return undefined
  }

  /** The call has been counted. False when it is not answered elsewhere. */
  release(run: CallRun): boolean {
    const pushed = this.#pushed.get(run)
    if (pushed === undefined) return false
    this.#pushed.delete(run)
    this.#lanes.release(this.#setting.session, pushed, () => {
      this.#over(run)
      pushed.stop.abort()
    })
    return true
  }

  #lost(pushed: Pushed): void {
    const { run, stop } = pushed
    if (this.#pushed.get(run) !== pushed) return
    this.#pushed.delete(run)
    this.#lanes.release(this.#setting.session, pushed, () => undefined)
    run.elsewhere = false
    const reason = this.arm(run)
    if (reason !== undefined) {
      run.elsewhere = true
      run.leaveResponse(reason)
    }
    stop.abort()
  }
}

/** Why a verdict on a response cannot be carried out on a stream that is not the call's own. */
function unfit(call: Call, verdict: Verdict): NotApplicableReason | undefined {
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
