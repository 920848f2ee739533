import {
  Client,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type McpSubscription,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import {
  clientResponses,
  clientCapabilities,
  commandOf,
  Received,
  type ClientTransport,
  type InteropClient,
} from './interop-client.ts'
import { recordFetch, type RecordedFetch } from '../recorded-fetch.ts'

/** The client of SDK v2, which can also subscribe. */
export interface InteropClientV2 extends InteropClient {
  /** Subscribes to changes of the list of tools; they come as received notifications. */
  listen(): Promise<McpSubscription>
}

/**
 * Makes what opens the client of SDK v2, with or without asking for the newest protocol version.
 */
export function clientV2(
  mode: 'legacy' | 'auto',
): (url: string, kind: ClientTransport) => Promise<InteropClientV2> {
  return async (url, kind) => {
    const recorder = recordFetch()
    const received = new Received()
    const client = new Client(
      { name: 'interop-v2', version: '1.0.0' },
      { capabilities: clientCapabilities, versionNegotiation: { mode } },
    )
    for (const method of ['notifications/message', 'notifications/tools/list_changed'] as const) {
      client.setNotificationHandler(method, ({ params }) => received.add(method, params))
    }
    client.setRequestHandler('elicitation/create', ({ method, params }) => {
      received.add(method, params)
      return clientResponses.elicitation
    })
    client.setRequestHandler('sampling/createMessage', ({ method, params }) => {
      received.add(method, params)
      return clientResponses.sampling
    })
    client.setRequestHandler('roots/list', ({ method, params }) => {
      received.add(method, params)
      return clientResponses.roots
    })

    const transport = transportTo(url, kind, recorder)
    await client.connect(transport)

    return {
      received,
      handshake: () => ({
        server: client.getServerVersion(),
        capabilities: client.getServerCapabilities(),
        instructions: client.getInstructions(),
        version: client.getNegotiatedProtocolVersion(),
        protocolVersion: client.getProtocolEra(),
      }),
      listTools: () => client.listTools(),
      call: (name, args = {}, { meta, ...rest } = {}) =>
        client.callTool({ name, arguments: args, ...(meta && { _meta: meta }) }, rest),
      getPrompt: (name) => client.getPrompt({ name }),
      readResource: (uri) => client.readResource({ uri }),
      setLevel: (level) => client.setLoggingLevel(level),
      async endSession() {
        if ('terminateSession' in transport) await transport.terminateSession()
      },
      listen: () => client.listen({ toolsListChanged: true }),
      close: () => client.close(),
      heads: recorder.heads,
      settled: recorder.settled,
    }
  }
}

function transportTo(url: string, kind: ClientTransport, { fetch }: RecordedFetch) {
  if (kind === 'stdio') return new StdioClientTransport({ ...commandOf(url), stderr: 'ignore' })
  return kind === 'sse'
    ? new SSEClientTransport(new URL(url), { fetch })
    : new StreamableHTTPClientTransport(new URL(url), { fetch })
}
