import { classified } from './layers/classified.ts'
import { injected } from './layers/injected.ts'
import { Stack, type StackParts } from './layers/layer.ts'
import { ordered } from './layers/ordered.ts'
import { publicAddress } from './layers/public-address.ts'
import { received, type Received } from './layers/received.ts'
import { sending } from './layers/sending.ts'
import { sessions } from './layers/sessions.ts'
import { settled } from './layers/settled.ts'
import { streams } from './layers/streams.ts'
import { unambiguous } from './layers/unambiguous.ts'

/**
 * Returns what happens to each exchange of a port, whatever its transport. Read it upward: a
 * request passes the last layer first, and its response the first.
 */
export function stack(p: StackParts): Received {
  const below = new Stack(sending(p)) // sends to the upstream, and notes the time
    .add(publicAddress(p)) // names the public URL in documents of the server
    .add(ordered(p)) // lets no request overtake those that it must follow
  return below
    .add(injected(p)) // applies the faults that the rules plan for the request
    .add(streams(p, below.top)) // carries the streams on which responses to other calls arrive
    .add(sessions(p)) // rejects requests of sessions that a fault has ended
    .add(settled(p)) // opens the calls, and observes the response, which settles each once
    .add(classified(p)) // reads the head and the body
    .add(unambiguous()) // rejects what two servers could read differently
    .add(received(p)).top // relays the response, and rejects what fails inside Squall
}
