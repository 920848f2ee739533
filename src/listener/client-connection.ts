import { Chain } from '../mcp/chain.ts'
import type { NodeExchange } from './node-exchange.ts'

/**
 * A client's connection and the exchanges that are open on it. Not a Set of them: the tables that a
 * Set discards keep exchanges that are long over from being collected early.
 */
export class ClientConnection extends Chain<NodeExchange> {
  /** Nothing that still arrives here is read as a request. */
  closing = false
  /** It came when the bound on connections was met, and is turned away as long as it is. */
  surplus = false
}
