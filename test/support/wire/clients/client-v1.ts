import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import {
  clientResponses,
  clientCapabilities,
  commandOf,
  Received,
  type ClientTransport,
  type OpenClient,
} from './interop-client.ts'
import { recordFetch, type RecordedFetch } from '../recorded-fetch.ts'

/** Opens the client of SDK v1. */
export const clientV1: OpenClient = async (url, kind) => {
  const recorder = recordFetch()
  const received = new Received()
  const client = new Client(
    { name: 'interop-v1', version: '1.0.0' },
    { capabilities: clientCapabilities },
  )
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ method, params }) =>
    received.add(method, params),
  )
  client.setRequestHandler(ElicitRequestSchema, ({ method, params }) => {
    received.add(method, params)
    return clientResponses.elicitation
  })
  client.setRequestHandler(CreateMessageRequestSchema, ({ method, params }) => {
    received.add(method, params)
    return clientResponses.sampling
  })
  client.setRequestHandler(ListRootsRequestSchema, ({ method, params }) => {
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
      version: 'protocolVersion' in transport ? transport.protocolVersion : undefined,
    }),
    listTools: () => client.listTools(),
    call: (name, args = {}, { meta, ...rest } = {}) =>
      client.callTool({ name, arguments: args, ...(meta && { _meta: meta }) }, undefined, rest),
    getPrompt: (name) => client.getPrompt({ name }),
    readResource: (uri) => client.readResource({ uri }),
    setLevel: (level) => client.setLoggingLevel(level),
    async endSession() {
      if ('terminateSession' in transport) await transport.terminateSession()
    },
    close: () => client.close(),
    heads: recorder.heads,
    settled: recorder.settled,
  }
}

function transportTo(url: string, kind: ClientTransport, { fetch }: RecordedFetch) {
  if (kind === 'stdio') return new StdioClientTransport({ ...commandOf(url), stderr: 'ignore' })
  return kind === 'sse'
    ? new SSEClientTransport(new URL(url), { fetch })
    : new StreamableHTTPClientTransport(new URL(url), { fetch })
}
