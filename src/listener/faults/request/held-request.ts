import { type Call, sharesStream } from '../../../mcp/call.ts'
import type { CallFaults, RequestVerdict } from '../call-faults.ts'
import { Stop } from '../chain/stop.ts'
import type { Reply } from '../../../mcp/reply.ts'
import { replyMessage } from '../emit/injected-response.ts'
import type { ExchangeParts, RequestOutcome } from '../exchange-faults-options.ts'

const RESOLVED = Promise.resolve()

/** Tracks a request that faults may hold, and whose calls a client may cancel meanwhile. */
export class HeldRequest {
  /** Stops the faults of the whole exchange. */
  readonly stop = new Stop()
  /** True when the faults were asked. */
  begun = false
  /** True when the request, or the rest of it, was sent to the upstream. */
  sent = false
  #whenSent: Promise<void> | undefined
  #resolveSent: (() => void) | undefined
  /** One for each call when several share the exchange. */
  readonly #stops: readonly Stop[]
  #waiting = false
  #until: Promise<void> | undefined
  #wasKept = false

  constructor(calls: number) {
    this.#stops = calls > 1 ? Array.from({ length: calls }, () => new Stop()) : []
  }

  /** Resolves when the upstream has the request, or never gets it; undefined when it has it. */
  get whenSent(): Promise<void> | undefined {
    if (this.sent) return undefined
    this.#whenSent ??= new Promise((resolve) => (this.#resolveSent = resolve))
    return this.#whenSent
  }

  /** Records that the request is sent. */
  forwarded(): void {
    this.sent = true
    this.#resolveSent?.()
    this.#whenSent = undefined
  }

  /** Returns the stop of one call's faults. */
  stopOf(index: number): Stop {
    return this.#stops[index] ?? this.stop
  }

  /** Resets the state for the repetition of a redirected request. */
  repeated(): void {
    this.sent = false
    this.begun = false
  }

  /** Ends the exchange; calls that were not sent never are. */
  end(): void {
    this.#resolveSent?.()
    this.#whenSent = RESOLVED
    this.abort()
  }

  /** Stops all faults. */
  abort(): void {
    this.stop.abort()
    for (const stop of this.#stops) stop.abort()
  }

  /** Returns true while a cancelled call need not be sent. */
  waits(all: readonly CallFaults[]): boolean {
    return !this.sent && (!this.begun || this.#waiting || all.some(({ waits }) => waits))
  }

  /** Cancels a call, which is then not sent. */
  abandon(calls: readonly CallFaults[], call: Call): void {
    const faults = calls.find((each) => each.call === call)
    if (faults === undefined) return
    faults.fate.abandon()
    faults.stop.abort()
    if (calls.every(({ fate }) => fate.isAbandoned)) this.abort()
  }

  /** Delays the request until `until` resolves. */
  suspend(all: readonly CallFaults[], until: Promise<void>): void {
    this.#wasKept = this.keptBy(all)
    this.#until = until
  }

  /** Resolves when the request may be sent; returns undefined when it may be sent at once. */
  ready(): Promise<void> | undefined {
    const until = this.#until
    if (until === undefined) return undefined
    this.#waiting = true
    return until.then(() => void (this.#waiting = false))
  }

  /**
   * Returns true while a fault holds the request, or held it when it was suspended: a call that
   * ends meanwhile counts as injected.
   */
  keptBy(all: readonly CallFaults[]): boolean {
    return !this.sent && (this.#wasKept || all.some(({ origin }) => origin === 'injected'))
  }
}

/**
 * Joins the verdicts on the messages of a request. Adds the indexes of messages that the upstream
 * does not get to `responded`, and the replies of faults to `replies`.
 */
export function requestOutcome(
  { posted }: Pick<ExchangeParts, 'posted'>,
  verdicts: readonly (RequestVerdict | undefined)[],
  responded: number[],
  replies: Reply[],
  repeated: readonly string[],
): RequestOutcome {
  for (let index = 0; index < verdicts.length; index++) {
    const verdict = verdicts[index]
    const faults = posted[index]!
    if (faults.fate.isAbandoned) {
      responded.push(index)
      continue
    }
    if (verdict === undefined) continue
    if (verdict.kind === 'reset') return { kind: 'cut', how: verdict.how }
    if (verdict.kind !== 'respond') continue
    const { reply } = verdict
    if (reply.kind === 'http') {
      for (const { fate } of posted) fate.changed()
      return { kind: 'http', reply }
    }
    const call = faults.call!
    faults.fate.replied()
    responded.push(index)
    if (!sharesStream(call.transport)) replies.push(replyMessage(reply, call))
  }
  return { kind: 'forward', responded, replies, repeated }
}
