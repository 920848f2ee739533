import type { LoadClient } from './load-client.ts'
import { openHeldStream } from './held-stream.ts'
import { createMarkerFetch } from './marker-fetch.ts'
import { sdkResponse, missingClient } from './sdk-response.ts'
import type { LoadTarget } from '../load-options.ts'

/** Loads the SDK of version 1 and returns a function that opens clients. */
export async function loadSdkV1(
  { url, headers }: LoadTarget,
  version: string,
): Promise<() => Promise<LoadClient>> {
  const { Client, StreamableHTTPClientTransport } = await importSdk()
  return async () => {
    const markerFetch = createMarkerFetch()
    const client = new Client({ name: 'squall-load', version }, { capabilities: {} })
    const options = { fetch: markerFetch.fetch, requestInit: { headers } }
    const transport = new StreamableHTTPClientTransport(url, options)
    await client.connect(transport)
    return {
      call: (name, args, bounds) =>
        sdkResponse(
          markerFetch,
          (limits) => client.callTool({ name, arguments: args }, undefined, limits),
          bounds,
        ),
      hold: (signal) => {
        const { sessionId } = transport
        const session = sessionId === undefined ? {} : { 'mcp-session-id': sessionId }
        return openHeldStream(url, { ...headers, ...session }, signal)
      },
      async close() {
        await transport.terminateSession().catch(() => {})
        await client.close()
      },
    }
  }
}

async function importSdk() {
  try {
    const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    ])
    return { Client, StreamableHTTPClientTransport }
  } catch (error) {
    throw missingClient('sdk-v1', '@modelcontextprotocol/sdk', error)
  }
}
