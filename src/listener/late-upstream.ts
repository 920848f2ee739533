import type { RequestHead } from '../http/headers.ts'
import type { Body, ResponseSink, Transfer, Upstream } from '../http/transfer.ts'

/** Requests that others must not overtake. Waiting can be given up, so that nothing is left of it. */
export class Departure {
  /** Settled when all of them are with the upstream, or never will be. */
  readonly over: Promise<unknown>
  readonly waiting = new Set<() => void>()
  isOver = false

  constructor(requests: readonly Promise<unknown>[]) {
    this.over = Promise.all(requests).then(() => this.#left())
  }

  #left(): void {
    this.isOver = true
    for (const go of this.waiting) go()
  }
}

/** What a request waits for. */
export interface Lateness {
  readonly behind: readonly Departure[]
  /** For so many milliseconds at most. */
  readonly atMost: number
  /** Called when the request has been sent. */
  readonly sent: () => void
}

/** Sends requests that must not overtake others. One whose client leaves meanwhile is not sent. */
export class LateUpstream implements Upstream {
  readonly #upstream: Upstream
  readonly #lateness: Lateness

  constructor(upstream: Upstream, lateness: Lateness) {
    this.#upstream = upstream
    this.#lateness = lateness
  }

  send(head: RequestHead, body: Body, sink: ResponseSink): Transfer {
    const { behind, atMost, sent } = this.#lateness
    let transfer: Transfer | undefined
    const leave = (): void => {
      clearTimeout(timer)
      for (const { waiting } of behind) waiting.delete(look)
    }
    const go = (): void => {
      leave()
      try {
        transfer = this.#upstream.send(head, body, sink)
        sent()
      } catch (error) {
        sink.fail({ kind: 'protocol', message: (error as Error).message })
      }
    }
    const look = (): void => {
      const next = behind.find(({ isOver }) => !isOver)
      if (next === undefined) go()
      else next.waiting.add(look)
    }
    const timer = setTimeout(go, atMost).unref()
    look()
    return {
      resume: () => transfer?.resume(),
      abort: () => {
        leave()
        transfer?.abort()
      },
    }
  }
}
