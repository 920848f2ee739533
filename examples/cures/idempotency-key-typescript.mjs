// Sends one key for each ticket: the server recognizes a retry and returns the first ticket.
import { randomUUID } from 'node:crypto'
import { withBackOff } from './back-off-typescript.mjs'

export function createTicket(client, title) {
  // Creates the key once, not for each attempt.
  const key = randomUUID()
  return withBackOff(() =>
    client.callTool({ name: 'create_ticket', arguments: { title, idempotency_key: key } }),
  )
}
