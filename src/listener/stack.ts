import { classified } from './layers/classified.ts'
import { endedSessions } from './layers/ended-sessions.ts'
import { injected } from './layers/injected.ts'
import { Stack } from './layers/service.ts'
import type { StackParts } from './layers/stack-parts.ts'
import { ordered } from './layers/ordered.ts'
import { publicAddress } from './layers/public-address.ts'
import { received, type Received } from './layers/received.ts'
import { sending } from './layers/sending.ts'
import { settled } from './layers/settled.ts'
import { streams } from './layers/streams.ts'
import { taped } from './layers/taped.ts'
import { unambiguous } from './layers/unambiguous.ts'

/**
 * Returns what happens to each exchange of a port, whatever its transport. Read it upward: a
 * request passes the last layer first, and its response the first.
 */
export function stack(p: StackParts): Received {
  // Requests that faults send of their own enter here: what every request needs is in this part.
  const toUpstream = new Stack(sending(p)) // 11. sends to the upstream, and notes the time
    .add(taped(p)) // 10. records what passes between client and upstream, without faults
    .add(publicAddress(p)) // 9. names the public URL in documents of the server
    .add(ordered(p)) // 8. lets no request overtake those that it must follow
  return toUpstream
    .add(injected(p)) // 7. applies the faults that the rules plan for the request
    .add(streams(p, toUpstream.top)) // 6. carries streams on which responses to other calls arrive
    .add(endedSessions(p)) // 5. rejects requests of sessions that a fault has ended
    .add(settled(p)) // 4. opens the calls, and observes the response, which settles each once
    .add(classified(p)) // 3. reads the head and the body
    .add(unambiguous()) // 2. rejects what two servers could read differently
    .add(received(p)).top // 1. relays the response
}
