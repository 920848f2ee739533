// One key for one ticket: the server recognizes a retry by it, and returns the first ticket.
import { randomUUID } from 'node:crypto'
import { withBackOff } from './back-off-typescript.mjs'

export function createTicket(client, title) {
  // Made before the first attempt, not for each of them.
  const key = randomUUID()
  return withBackOff(() =>
    client.callTool({ name: 'create_ticket', arguments: { title, idempotency_key: key } }),
  )
}
