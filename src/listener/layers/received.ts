import type { Exchange } from '../exchange.ts'
import { ExchangeObserver } from '../exchange-observer.ts'
import type { Rejection } from '../rejection.ts'
import { Relay } from '../relay.ts'
import type { Layer, Service } from './service.ts'
import type { StackParts } from './stack-parts.ts'

/** Handles the exchanges of a listener. */
export interface Received {
  handle(exchange: Exchange): void
  /** Rejects an exchange that the listener cannot accept. */
  reject(exchange: Exchange, rejection: Rejection): void
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
    reject(exchange, rejection) {
      new Relay(exchange, unclassified, p).settlement.reject(rejection)
    },
    relay: (exchange) => new Relay(exchange, undefined, p),
  })
}
