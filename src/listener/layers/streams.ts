import { postOf } from '../faults/request/call-texts.ts'
import { sendAlone } from '../faults/request/copies.ts'
import { PushStream } from '../faults/source/push-streams.ts'
import { PushObserver } from '../push-observer.ts'
import type { Relay } from '../relay.ts'
import type { Layer, Outgoing, Service } from './service.ts'
import type { StackParts } from './stack-parts.ts'
import type { Opened } from './settled.ts'

/**
 * Carries the streams that clients open by GET: their events respond to calls of other exchanges,
 * and pass the faults of those calls. What faults post for a stream goes straight to `below`.
 */
export function streams(
  p: StackParts,
  below: Service<Outgoing>,
): Layer<Service<Opened, Relay>, Service<Opened>> {
  return (inner) => ({
    send(opened, relay) {
      const { exchange, facts } = opened.request
      if (facts.kind !== 'stream') return inner.send(opened, relay)
      const { head } = exchange
      const position = new PushObserver(p, head, opened.account!)
      relay.settlement.observe(position, opened)
      if (p.push === undefined) return inner.send(opened, relay)
      const post = (text: string, target: string | undefined): void =>
        sendAlone(postOf(head, text, target), below)
      const client = { sink: relay, position, post }
      const stream = new PushStream(p.push, p.planner?.messagesOf(head), client)
      position.stream = stream
      stream.attach(inner.send(opened, stream))
      return stream
    },
  })
}
