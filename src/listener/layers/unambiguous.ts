import { findAmbiguity } from '../../http/ambiguity.ts'
import { FastRequestHead } from '../../http/fast/fast-request-head.ts'
import type { Exchange } from '../exchange.ts'
import type { Relay } from '../relay.ts'
import type { Layer, Service } from './service.ts'

/** Rejects requests that two servers could read differently. */
export function unambiguous(): Layer<Service<Exchange, Relay>> {
  return (inner) => ({
    send(exchange, relay) {
      const { head } = exchange
      // The fast reader accepts no ambiguous request.
      const found = head instanceof FastRequestHead ? undefined : findAmbiguity(head)
      if (found === undefined) return inner.send(exchange, relay)
      return relay.settlement.reject({ ...found, reason: 'ambiguous_request' })
    },
  })
}
