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
import { plainResult, wordOf } from './client-word.ts'
import type { Kind, Meeting, Met } from './run-cells.ts'
import { expectedOf } from './measured.ts'

const LONG = 10_000

/** The clients of the TypeScript SDKs. */
export function sdkKind(client: ClientId): Kind {
  return {
    expected: (variant, setting) => expectedOf(variant, setting, client),
    listsAfterResult: false,
    async meetAll(setting, meetings, { atOnce, patience }) {
      const met = new Map<string, Met>()
      const clients: MatrixClient[] = []
      const waiting = [...meetings]
      const work = async (): Promise<void> => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
          met.set(next.cell, await meet(client, setting, next, { clients, patience }))
        }
      }
      await Promise.all(Array.from({ length: atOnce }, work))
      await Promise.all(clients.map((one) => one.close().catch(() => undefined)))
      return met
    },
  }
}

async function meet(
  id: ClientId,
  setting: Setting,
  { cell, variant, expected, origin, headers }: Meeting,
  { clients, patience }: { readonly clients: MatrixClient[]; readonly patience: number },
): Promise<Met> {
  const client = await openClient(id, { origin, setting, headers })
  clients.push(client)
  const call = (tool: string, n: number, expectedWord: string | undefined): Promise<string> =>
    wordOf(client.call(tool, n, expectedWord === 'timeout' ? patience : LONG), plainResult(n))
  if (variant.before === 'list') await client.list(LONG)
  if (variant.before === 'call') await client.call(cell, 1, LONG)
  const { complaints } = client
  const word =
    variant.method === 'tools/list'
      ? await wordOf(client.list(LONG), [cell])
      : await call(cell, 2, expected?.says)
  const next = await call('next', 3, expected?.next)
  const says = word === 'ok' && client.complaints > complaints ? 'ok, and complains' : word
  return { says, next }
}

/** A real client, as far as the matrix uses it. */
interface MatrixClient {
  /** The names of the tools. */
  list(timeout: number): Promise<readonly string[]>
  call(tool: string, n: number, timeout: number): Promise<unknown>
  /** The number of errors outside of any call. */
  readonly complaints: number
  close(): Promise<void>
}

/** Where a client connects, and what each of its requests carries. */
interface Opening {
  readonly origin: string
  readonly setting: Setting
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Made once: each client makes one of its own otherwise, which takes longer than all it does here.
 */
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
async function openClient(id: ClientId, opening: Opening): Promise<MatrixClient> {
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
    // Progress that is read together with the response is said to be for no call: a matter of
    // chance.
    if (!/progress notification/.test(message)) complaints.count++
  }
  Object.assign(client, { onerror })
  return complaints
}
