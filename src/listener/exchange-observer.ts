import { FAULT } from '../http/foreign-markers.ts'
import type { ResponseHead } from '../http/headers.ts'
import { responseFactsOf } from '../http/response-facts.ts'
import type { Origin, Outcome } from '../mcp/call.ts'
import type { HttpRecord } from '../telemetry/telemetry.ts'
import type { Explained } from './ended-call.ts'
import { originOfStatus } from './faults/call-outcome.ts'
import type { ExchangeFaults } from './faults/exchange-faults.ts'
import type { StackParts } from './layers/stack-parts.ts'
import type { Observer } from './observer.ts'

/** Counts an exchange that carries no calls by its status. */
export class ExchangeObserver implements Observer {
  isOver = false
  /** The faults of the exchange; undefined when no rule matched. */
  faults: ExchangeFaults | undefined
  /** Called once with the status of the upstream; with 0 when the response is not the upstream's. */
  onEnd: ((status: number) => void) | undefined
  readonly #parts: StackParts
  readonly #class: HttpRecord['class']
  #head: ResponseHead | undefined

  constructor(parts: StackParts, kind: HttpRecord['class']) {
    this.#parts = parts
    this.#class = kind
  }

  head(head: ResponseHead): void {
    this.#head = head
  }

  end(): void {
    const status = this.#head?.status ?? 0
    let origin = this.faults === undefined ? 'real' : originOfStatus(this.faults)
    if (origin === 'real' && this.#head !== undefined && status >= 400) {
      const mark = this.#parts.markers.believed(responseFactsOf(this.#head).mark)
      if (mark === FAULT) origin = 'injected_elsewhere'
    }
    this.#count(status, origin)
  }

  fail(): void {
    this.end()
  }

  gone(): void {
    this.end()
  }

  settle(_outcome: Outcome, origin: Origin, { status }: Explained): void {
    this.isOver = true
    if (status !== undefined) this.#count(status, origin)
  }

  #count(status: number, origin: Origin): void {
    this.isOver = true
    this.onEnd?.(origin === 'real' ? status : 0)
    this.#parts.telemetry.http({ class: this.#class, status, origin })
  }
}
