import { EventEmitter, once } from 'node:events'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  type CallToolResult,
} from '@modelcontextprotocol/sdk/types.js'
import { MemoryEventStore } from './event-store.ts'
import { hostSessions, type SessionHost } from './session-host.ts'

/** A server with sessions, whose tools drop streams and wait for cancellation. */
export interface SessionServer {
  readonly host: SessionHost
  /** The number of times that clients resumed a stream. */
  readonly resumptions: number
  /** Resolves when a call of `wait` has begun; await it before the call is made. */
  waiting(): Promise<void>
  /** Resolves when the server has seen the cancellation of a call of `wait`. */
  cancelled(): Promise<void>
}

type Run = (context: {
  say: (data: string) => Promise<void>
  closeStream: () => void
  signal: AbortSignal
}) => Promise<void>

/** Starts the server on a free port of the loopback interface. */
export async function sessionServer(): Promise<SessionServer> {
  const events = new EventEmitter()
  const eventStore = new MemoryEventStore()

  const tools: Record<string, Run> = {
    async 'end the stream'({ say, closeStream }) {
      await say('before the end')
      closeStream()
      await eventStore.resumed()
      await say('after the end')
    },
    async 'be cut off'({ say }) {
      await say('before the cut')
      await eventStore.resumed()
      await say('after the cut')
    },
    async wait({ signal }) {
      const aborted = once(signal, 'abort')
      events.emit('waiting')
      await aborted
      events.emit('cancelled')
    },
  }

  const host = await hostSessions({
    eventStore,
    retryMs: 50,
    connect: (transport) => toolServer(tools).connect(transport),
  })

  return {
    host,
    get resumptions() {
      return eventStore.resumedFrom.length
    },
    waiting: async () => void (await once(events, 'waiting')),
    cancelled: async () => void (await once(events, 'cancelled')),
  }
}

function toolServer(tools: Record<string, Run>): Server {
  const server = new Server(
    { name: 'session-fixture', version: '1.0.0' },
    { capabilities: { tools: {}, logging: {} } },
  )
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' as const } })),
  }))
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params }, extra): Promise<CallToolResult> => {
      const say = (data: string): Promise<void> =>
        extra.sendNotification({
          method: 'notifications/message',
          params: { level: 'info', data },
        })
      const closeStream = extra.closeSSEStream ?? (() => undefined)
      await tools[params.name]?.({ say, closeStream, signal: extra.signal })
      return { content: [{ type: 'text', text: `${params.name}: done` }] }
    },
  )
  return server
}
