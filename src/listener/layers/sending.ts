import type { Outgoing, Service } from './service.ts'
import type { StackParts } from './stack-parts.ts'

const NO_ENTRIES: NonNullable<Outgoing['entries']> = []

/** Sends requests to the upstream, and records when their calls were sent. */
export function sending({ upstream, now }: StackParts): Service<Outgoing> {
  return {
    send({ head, body, entries = NO_ENTRIES }, sink) {
      const transfer = upstream.send(head, body, sink)
      if (entries.length > 0) {
        const sentAt = now()
        for (const entry of entries) entry.sentAt = sentAt
      }
      return transfer
    },
  }
}
