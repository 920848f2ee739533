import {
  Client as ClientV2,
  SSEClientTransport as SseV2,
  StreamableHTTPClientTransport as HttpV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport as SseV1 } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { AjvJsonSchemaValidator as AjvV1 } from '@modelcontextprotocol/sdk/validation/ajv'
import { AjvJsonSchemaValidator as AjvV2 } from '@modelcontextprotocol/client/validators/ajv'
import type { ClientId, Setting } from './settings.ts'

/** A real client, as far as the matrix uses it. */
export interface MatrixClient {
  /** The names of the tools. */
  list(timeout: number): Promise<readonly string[]>
  call(tool: string, n: number, timeout: number): Promise<unknown>
  /** How many things went wrong outside of any call. */
  readonly complaints: number
  close(): Promise<void>
}

/** Where a client connects, and what each of its requests carries. */
export interface Opening {
  readonly origin: string
  readonly setting: Setting
  readonly headers: Readonly<Record<string, string>>
}

/** Made once: each client makes one of its own otherwise, which takes longer than all it does here. */
const validators = { v1: new AjvV1(), v2: new AjvV2() }
const info = { name: 'matrix', version: '1.0.0' }
const progress = { onprogress: () => undefined }
/** Faults end streams, and a client is to come back at once. */
const reconnectionOptions = {
  initialReconnectionDelay: 30,
  maxReconnectionDelay: 30,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 2,
}

/** Opens a client of the SDK. */
export async function openClient(id: ClientId, opening: Opening): Promise<MatrixClient> {
  const { origin, setting, headers } = opening
  const isSse = setting.transport === 'sse'
  const url = new URL(isSse ? '/sse' : '/mcp', origin)
  const options = { requestInit: { headers: { ...headers } } }
  if (id === 'v1') {
    const client = new ClientV1(info, { jsonSchemaValidator: validators.v1 })
    const complaints = countComplaints(client)
    const transport = isSse
      ? new SseV1(url, options)
      : new HttpV1(url, { ...options, reconnectionOptions })
    await client.connect(transport)
    return {
      list: async (timeout) =>
        (await client.listTools({}, { timeout })).tools.map(({ name }) => name),
      call: (name, n, timeout) =>
        client.callTool({ name, arguments: { n } }, undefined, { timeout, ...progress }),
      get complaints() {
        return complaints.count
      },
      close: () => client.close(),
    }
  }
  const mode = id === 'auto' ? ('auto' as const) : ('legacy' as const)
  const client = new ClientV2(info, {
    versionNegotiation: { mode },
    jsonSchemaValidator: validators.v2,
  })
  const complaints = countComplaints(client)
  const transport = isSse
    ? new SseV2(url, options)
    : new HttpV2(url, { ...options, reconnectionOptions })
  await client.connect(transport)
  return {
    list: async (timeout) =>
      (await client.listTools({}, { timeout })).tools.map(({ name }) => name),
    call: (name, n, timeout) =>
      client.callTool({ name, arguments: { n } }, { timeout, ...progress }),
    get complaints() {
      return complaints.count
    },
    close: () => client.close(),
  }
}

function countComplaints(client: object): {
  count: number
} {
  const complaints = { count: 0 }
  const onerror = ({ message }: Error): void => {
    // Progress that is read together with the response is said to be for no call: a matter of chance.
    if (!/progress notification/.test(message)) complaints.count++
  }
  Object.assign(client, { onerror })
  return complaints
}
