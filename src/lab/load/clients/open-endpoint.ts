import { isModern } from '../../../mcp/protocol-version.ts'
import { openLeanEndpoint } from './lean-endpoint.ts'
import { LAST_SESSION_PROTOCOL_VERSION } from './lean-handshake.ts'
import type { Endpoint } from './load-client.ts'
import type { LoadTarget } from '../load-options.ts'

/** Performs the handshake and prepares the chosen client. */
export async function openEndpoint(target: LoadTarget, version: string): Promise<Endpoint> {
  const endpoint = await openLeanEndpoint(target, version)
  if (target.client === 'lean') return endpoint
  try {
    const modern = isModern(endpoint.protocolVersion)
    const { loadSdkV1, loadSdkV2 } = await import('./sdk-clients.ts')
    if (target.client === 'sdk-v2') {
      return { ...endpoint, connect: await loadSdkV2(target, version, modern) }
    }
    const connect = await loadSdkV1(target, version)
    // The SDK of version 1 supports no newer protocol version.
    return {
      ...endpoint,
      connect,
      protocolVersion: modern ? LAST_SESSION_PROTOCOL_VERSION : endpoint.protocolVersion,
    }
  } catch (error) {
    await endpoint.close()
    throw error
  }
}
