import type { LoadClient } from './load-client.ts'
import { openHeldStream } from './held-stream.ts'
import { createMarkerFetch, type MarkerFetch } from './marker-fetch.ts'
import { missingClient, sdkResponse } from './sdk-response.ts'
import type { LoadTarget } from '../load-options.ts'

interface SdkTransport {
  readonly sessionId?: string | undefined
  terminateSession(): Promise<void>
}

type CallTool = (
  params: { readonly name: string; readonly arguments: Record<string, unknown> },
  limits: { readonly signal: AbortSignal; readonly timeout: number },
) => Promise<unknown>

/** Loads the SDK of version 1 and returns a function that opens clients. */
export async function loadSdkV1(
  target: LoadTarget,
  version: string,
): Promise<() => Promise<LoadClient>> {
  const { Client, StreamableHTTPClientTransport } = await importV1()
  return async () => {
    const markerFetch = createMarkerFetch()
    const client = new Client({ name: 'squall-load', version }, { capabilities: {} })
    const options = { fetch: markerFetch.fetch, requestInit: { headers: target.headers } }
    const transport = new StreamableHTTPClientTransport(target.url, options)
    await client.connect(transport)
    const call: CallTool = (params, limits) => client.callTool(params, undefined, limits)
    return sdkClient(target, client, transport, markerFetch, call)
  }
}

/** Loads the SDK of version 2 and returns a function that opens clients. */
export async function loadSdkV2(
  target: LoadTarget,
  version: string,
  modern: boolean,
): Promise<() => Promise<LoadClient>> {
  const { Client, StreamableHTTPClientTransport } = await importV2()
  return async () => {
    const markerFetch = createMarkerFetch()
    const client = new Client(
      { name: 'squall-load', version },
      { capabilities: {}, versionNegotiation: { mode: modern ? 'auto' : 'legacy' } },
    )
    const options = { fetch: markerFetch.fetch, requestInit: { headers: target.headers } }
    const transport = new StreamableHTTPClientTransport(target.url, options)
    await client.connect(transport)
    const call: CallTool = (params, limits) => client.callTool(params, limits)
    return sdkClient(target, client, transport, markerFetch, call)
  }
}

function sdkClient(
  { url, headers }: LoadTarget,
  client: { close(): Promise<void> },
  transport: SdkTransport,
  markerFetch: MarkerFetch,
  callTool: CallTool,
): LoadClient {
  return {
    call: (name, args, bounds) =>
      sdkResponse(markerFetch, (limits) => callTool({ name, arguments: args }, limits), bounds),
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

async function importV1() {
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

async function importV2() {
  try {
    return await import('@modelcontextprotocol/client')
  } catch (error) {
    throw missingClient('sdk-v2', '@modelcontextprotocol/client', error)
  }
}
