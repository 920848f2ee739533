import { Chain } from '../mcp/chain.ts'
import type { OpenExchange } from './open-exchange.ts'
import type { SpliceConnection } from './splice/splice-connection.ts'

/**
 * A client's connection and the exchanges that are open on it. Not a Set of them: the tables that a
 * Set discards keep exchanges that are long over from being collected early.
 */
export class ClientConnection extends Chain<OpenExchange> {
  /** Nothing that still arrives here is read as a request. */
  closing = false
  /** It came when the bound on connections was met, and is turned away as long as it is. */
  surplus = false
  /** The request that came last, where it came behind others that were not answered; it may be over. */
  last: OpenExchange | undefined
  /** Who reads it, as long as that is not node:http. */
  splice: SpliceConnection | undefined
}
