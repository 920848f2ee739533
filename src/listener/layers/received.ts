import type { RejectionReason } from '../../telemetry/telemetry.ts'
import type { Exchange } from '../exchange.ts'
import { ExchangeObserver } from '../exchange-observer.ts'
import { Relay } from '../relay.ts'
import type { Layer, Service } from './service.ts'
import type { StackParts } from './stack-parts.ts'

/** Handles the exchanges of a listener. */
export interface Received {
  handle(exchange: Exchange): void
  /** Rejects an exchange that the listener cannot accept. */
  reject(exchange: Exchange, status: number, reason: RejectionReason, message: string): void
  /** Returns a relay for an exchange that something else counts. */
  relay(exchange: Exchange): Relay
}

/** Gives each exchange a relay for its response; a request that fails inside Squall is rejected. */
export function received(p: StackParts): Layer<Received, Service<Exchange, Relay>> {
  // Counts what is rejected before it is classified.
  const unclassified = new ExchangeObserver(p, 'http')
  return (inner) => ({
    handle(exchange) {
      const relay = new Relay(exchange, unclassified, p)
      try {
        inner.send(exchange, relay)
      } catch (error) {
        relay.settlement.failInside(error)
      }
    },
    reject(exchange, status, reason, message) {
      new Relay(exchange, unclassified, p).settlement.reject({ status, reason, message })
    },
    relay: (exchange) => new Relay(exchange, undefined, p),
  })
}
