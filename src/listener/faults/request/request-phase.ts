import type { Call } from '../../../mcp/call.ts'
import type { Reply } from '../../../mcp/reply.ts'
import {
  type CallInjection,
  type InjectedExchange,
  isAnyInjected,
  ownOf,
  waits,
} from '../call-injection.ts'
import type { CallTexts } from './call-texts.ts'
import { pipeMessages } from './single-messages.ts'
import {
  type RequestOutcome,
  admitVerdict,
  askFaults,
  blocked,
  requestOutcome,
} from './verdicts.ts'

const RESOLVED = Promise.resolve()

/** Takes the request of an exchange through its faults, until the upstream has it. */
export class RequestPhase {
  /**
   * Passes: the response goes to the client unchanged, which repeats the request. Held: the faults
   * are kept for the repeated request.
   */
  redirect: 'passes' | 'held' | undefined
  /** True when the exchange has ended. */
  isOver = false
  readonly #of: InjectedExchange
  /** The messages that are answered by the request phase, by index, with the responses. */
  readonly #responded: number[] = []
  readonly #replies: Reply[] = []
  #receivedAt: number | undefined
  /** Asked: the faults are. Sent: the upstream has the request, or what is left of it. */
  #state: 'arrived' | 'asked' | 'sent' = 'arrived'
  #whenSent: Promise<void> | undefined
  #resolveSent: (() => void) | undefined
  /** Pending while the request waits after its faults. */
  #until: Promise<void> | undefined
  #isWaiting = false
  #wasKept = false

  constructor(of: InjectedExchange) {
    this.#of = of
    this.#receivedAt = of.options.exchange.receivedAt
  }

  /** True when a fault acts on the request. */
  get isActedOn(): boolean {
    const { posted, calls, all } = this.#of
    for (const own of all) if (own.actsOnRequest) return true
    return posted.length > calls.length
  }

  /** True while faults hold the request, or before they are asked. */
  get holds(): boolean {
    if (!this.isActedOn || this.#state === 'sent') return false
    if (this.#state === 'arrived' || this.#isWaiting) return true
    return this.#of.all.some(waits)
  }

  /**
   * True while a fault holds the request, or held it when it was suspended: a call that ends
   * meanwhile counts as injected.
   */
  get keeps(): boolean {
    if (this.#state === 'sent') return false
    return this.#wasKept || isAnyInjected(this.#of.all)
  }

  /** Resolves when the upstream has the request, or never gets it; undefined when it has it. */
  get whenSent(): Promise<void> | undefined {
    if (this.#state === 'sent') return undefined
    this.#whenSent ??= new Promise((resolve) => (this.#resolveSent = resolve))
    return this.#whenSent
  }

  /** Handles a cancelled call: it is not sent when faults still hold it. */
  abandon(call: Call): void {
    const { calls } = this.#of
    const own = this.holds ? ownOf(calls, call) : undefined
    if (own === undefined) return
    own.isAbandoned = true
    own.stop.abort()
    if (calls.every(({ isAbandoned }) => isAbandoned)) this.#of.disarm()
  }

  /** Delays the request until `until` resolves. */
  suspend(until: Promise<void>): void {
    this.#wasKept = this.keeps
    this.#until = until
  }

  /** Asks the faults about the request. Waits only for faults that wait. */
  async ask(texts: CallTexts): Promise<RequestOutcome> {
    this.#state = 'asked'
    const { exchange, posted, calls } = this.#of
    const ask = (own: CallInjection, since: number | undefined) =>
      askFaults(own, (wanted, active) => admitVerdict(own, wanted, active, this.#of, texts), since)
    for (let index = 0; index < posted.length; index++) {
      for (const edit of posted[index]!.edits) await texts.edit(index, edit)
    }
    let since = this.#receivedAt
    if (exchange.actsOnRequest) {
      const whole = await ask(exchange, since)
      if (whole.kind === 'reset') return { kind: 'cut', how: whole.how }
      if (whole.kind === 'respond' && whole.reply.kind === 'http') {
        return { kind: 'http', reply: whole.reply }
      }
      // The fault of the exchange may have taken time before the calls' faults.
      since = undefined
    }
    const responded = this.#responded
    // In parallel: in a batch no call waits for the fault of another call.
    const verdicts = await Promise.all(
      posted.map(async (own, at) => {
        if (own.blockedBy !== undefined) return blocked(own, own.blockedBy)
        // A message that was answered before the client repeated the request has no verdict.
        return responded.includes(at) ? undefined : await ask(own, since)
      }),
    )
    const repeated =
      posted.length === calls.length
        ? []
        : await pipeMessages(posted, calls.length, verdicts, texts, responded)
    if (this.#until !== undefined) {
      this.#isWaiting = true
      await this.#until
      this.#isWaiting = false
    }
    return requestOutcome(posted, verdicts, responded, this.#replies, repeated)
  }

  /** Records that the upstream gets the request. */
  sent(): void {
    this.#state = 'sent'
    this.#resolveSent?.()
    this.#whenSent = undefined
  }

  /** Begins again with the repeated request; faults that were asked are not asked again. */
  repeat(receivedAt: number): void {
    this.redirect = undefined
    this.#state = 'arrived'
    this.#receivedAt = receivedAt
  }

  /** Ends with the exchange: a request that was not sent never is. */
  end(): void {
    this.isOver = true
    this.#resolveSent?.()
    this.#whenSent = RESOLVED
  }
}
