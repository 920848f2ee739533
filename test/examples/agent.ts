import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  type AuthProvider,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

/** What a tool is answered with. */
export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text: string }[]
  readonly structuredContent?: Readonly<Record<string, unknown>>
  readonly isError?: boolean
}

/** A tool as it is listed. */
export interface ListedTool {
  readonly name: string
  readonly inputSchema: { readonly required?: readonly string[] | undefined }
}

/** A client of one of the SDKs, as an agent uses it. */
export interface Agent {
  readonly session: string | undefined
  tools(): Promise<readonly ListedTool[]>
  /** Calls a tool, with arguments that it takes unless others are given. */
  call(tool: string, options?: CallOptions): Promise<ToolResult>
  close(): Promise<void>
}

interface CallOptions {
  readonly args?: Record<string, unknown>
  /** How long the agent waits, in milliseconds. */
  readonly timeout?: number
}

const ARGUMENTS: Readonly<Record<string, Record<string, unknown>>> = {
  search_docs: { query: 'refunds' },
  get_weather: { city: 'Oslo' },
  list_orders: { customer: 'ada' },
  create_ticket: { title: 'It is broken' },
  fetch_document: { id: 'handbook' },
}

const ABOUT = { name: 'my-agent', version: '1.0.0' }

/** Opens a client of SDK v1, with a token where it is given one. */
export async function openAgentV1(url: string, token?: string): Promise<Agent> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const transport = new TransportV1(new URL(url), { requestInit: { headers } })
  const client = new ClientV1(ABOUT)
  await client.connect(transport)
  return {
    session: transport.sessionId,
    tools: async () => (await client.listTools()).tools,
    call: async (name, { args = ARGUMENTS[name] ?? {}, timeout = 15_000 } = {}) =>
      (await client.callTool({ name, arguments: args }, undefined, { timeout })) as ToolResult,
    close: () => client.close(),
  }
}

/** Opens a client of SDK v2, with what gets it tokens. */
export async function openAgentV2(url: string, authProvider?: AuthProvider): Promise<Agent> {
  const transport = new TransportV2(new URL(url), authProvider && { authProvider })
  const client = new ClientV2(ABOUT)
  await client.connect(transport)
  return {
    session: transport.sessionId,
    tools: async () => (await client.listTools()).tools,
    call: async (name, { args = ARGUMENTS[name] ?? {}, timeout = 15_000 } = {}) =>
      (await client.callTool({ name, arguments: args }, { timeout })) as ToolResult,
    close: () => client.close(),
  }
}

interface Failure {
  readonly code?: string | number
  readonly status?: number
}

/** What an agent gets to see of a call, in one line: `ok`, what the tool said, or the SDK's error. */
export async function met(call: Promise<ToolResult>): Promise<string> {
  try {
    const { isError, content } = await call
    return isError === true ? `tool error: ${content[0]!.text}` : 'ok'
  } catch (error) {
    const { constructor, code, message, status } = error as Error & Failure
    return `${constructor.name} ${status ?? code ?? message}`
  }
}

/** What calls of a tool meet, one after the other. */
export async function fates(agent: Agent, tool: string, calls: number): Promise<string[]> {
  const all: string[] = []
  for (let n = 0; n < calls; n++) all.push(await met(agent.call(tool)))
  return all
}
