import { clientV1 } from './client-v1.ts'
import { clientV2 } from './client-v2.ts'

const SDKS = { v1: clientV1, v2: clientV2('legacy'), 'v2 auto': clientV2('auto') }

/**
 * Returns the function that connects a client of an SDK; `v2 auto` asks for the newest protocol
 * version.
 */
export function openClient<S extends keyof typeof SDKS>(sdk: S): (typeof SDKS)[S] {
  return SDKS[sdk]
}
