import type { RequestHead } from '../http/headers.ts'
import type { Body, ResponseSink, Transfer, Upstream } from '../http/transfer.ts'

/** Holds later requests until earlier ones have reached the upstream. */
export class SendBarrier {
  /** Resolves when all requests have reached the upstream, or never will. */
  readonly passed: Promise<unknown>
  readonly waiting = new Set<() => void>()
  isPassed = false

  constructor(requests: readonly Promise<unknown>[]) {
    this.passed = Promise.all(requests).then(() => this.#pass())
  }

  #pass(): void {
    this.isPassed = true
    for (const check of this.waiting) check()
  }
}

/** Configures the wait of a request. */
export interface BarrierOptions {
  readonly barriers: readonly SendBarrier[]
  /** The longest wait in milliseconds. */
  readonly timeout: number
  /** Called when the request has been sent. */
  readonly sent: () => void
}

/**
 * Sends a request after its barriers have passed; a request whose client leaves before is not sent.
 */
export class BarrierUpstream implements Upstream {
  readonly #upstream: Upstream
  readonly #options: BarrierOptions

  constructor(upstream: Upstream, options: BarrierOptions) {
    this.#upstream = upstream
    this.#options = options
  }

  send(head: RequestHead, body: Body, sink: ResponseSink): Transfer {
    const { barriers, timeout, sent } = this.#options
    let transfer: Transfer | undefined
    const leave = (): void => {
      clearTimeout(timer)
      for (const { waiting } of barriers) waiting.delete(check)
    }
    const send = (): void => {
      leave()
      try {
        transfer = this.#upstream.send(head, body, sink)
        sent()
      } catch (error) {
        sink.fail({ kind: 'protocol', message: (error as Error).message })
      }
    }
    const check = (): void => {
      const next = barriers.find(({ isPassed }) => !isPassed)
      if (next === undefined) send()
      else next.waiting.add(check)
    }
    const timer = setTimeout(send, timeout).unref()
    check()
    return {
      resume: () => transfer?.resume(),
      abort: () => {
        leave()
        transfer?.abort()
      },
    }
  }
}
