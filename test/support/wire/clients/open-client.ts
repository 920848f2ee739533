import type { InteropClientV2 } from './client-v2.ts'
import type { ClientTransport, OpenClient } from './interop-client.ts'

/** The SDKs are loaded when a client of one is opened. */
const SDKS = {
  v1: (async (url, kind) => (await import('./client-v1.ts')).clientV1(url, kind)) as OpenClient,
  v2: clientV2('legacy'),
  'v2 auto': clientV2('auto'),
}

function clientV2(
  mode: 'legacy' | 'auto',
): (url: string, kind: ClientTransport) => Promise<InteropClientV2> {
  return async (url, kind) => (await import('./client-v2.ts')).clientV2(mode)(url, kind)
}

/**
 * Returns the function that connects a client of an SDK; `v2 auto` asks for the newest protocol
 * version.
 */
export function openClient<S extends keyof typeof SDKS>(sdk: S): (typeof SDKS)[S] {
  return SDKS[sdk]
}
