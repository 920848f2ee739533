import { EventEmitter, once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node'
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { RequestLog } from './request-log.ts'

/** A server of protocol version 2026-07-28 that also serves older clients, without sessions. */
export interface ModernServer {
  readonly origin: string
  readonly url: string
  readonly requests: RequestLog
  /** Resolves when a call of `wait` has begun; await it before the call is made. */
  waiting(): Promise<void>
  /** Resolves when the server has seen the cancellation of a call of `wait`. */
  cancelled(): Promise<void>
  close(): Promise<void>
}

const city = z.object({ city: z.string() })

/**
 * Starts the server on a free port of the loopback interface; `mount` says what stands before it.
 */
export async function modernServer(
  mount: (inner: RequestListener) => RequestListener = (inner) => inner,
): Promise<ModernServer> {
  const events = new EventEmitter()
  const requests = new RequestLog()
  const handler = createMcpHandler(() => serverOf(events, () => handler.notify.toolsChanged()))
  const serve = toNodeHandler(handler)
  const inner: RequestListener = (request, response) => {
    requests.add(request)
    serve(request as NodeIncomingMessageLike, response).catch((error: unknown) =>
      response.destroy(error as Error),
    )
  }
  const server = createServer(mount(inner))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    url: `${origin}/mcp`,
    requests,
    waiting: async () => void (await once(events, 'waiting')),
    cancelled: async () => void (await once(events, 'cancelled')),
    async close() {
      await handler.close()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function serverOf(events: EventEmitter, toolsChanged: () => void): McpServer {
  const server = new McpServer(
    { name: 'modern-fixture', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true }, prompts: {}, logging: {} } },
  )
  server.registerTool(
    'echo',
    { description: 'Says it again', inputSchema: z.object({ message: z.string() }) },
    ({ message }) => ({ content: [{ type: 'text', text: `Echo: ${message}` }] }),
  )
  server.registerTool(
    'add',
    {
      description: 'Adds two numbers',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ a, b }) => ({
      content: [{ type: 'text', text: String(a + b) }],
      structuredContent: { sum: a + b },
    }),
  )
  server.registerTool(
    'count',
    { description: 'Reports each step', inputSchema: z.object({ steps: z.number() }) },
    async ({ steps }, context) => {
      for (let step = 1; step <= steps; step += 1) await progress(context, step, steps)
      return { content: [{ type: 'text', text: `Counted to ${steps}` }] }
    },
  )
  server.registerTool('fail', { description: 'Always fails' }, () => ({
    isError: true,
    content: [{ type: 'text', text: 'It failed' }],
  }))
  server.registerTool('chat', { description: 'Logs, then answers' }, async (context) => {
    await context.mcpReq.log('info', 'a word in between', 'fixture')
    return { content: [{ type: 'text', text: 'said' }] }
  })
  // No header can carry this name as it is. (A tool of this name makes the SDK complain.)
  server.registerPrompt('日本', { description: 'Greets' }, () => ({
    messages: [{ role: 'user', content: { type: 'text', text: 'こんにちは' } }],
  }))
  server.registerTool('ask', { description: 'Wants to know a city' }, (context) => {
    const answer = acceptedContent(context.mcpReq.inputResponses, 'where', city)
    if (answer !== undefined) return { content: [{ type: 'text', text: `To ${answer.city}` }] }
    const where = inputRequired.elicit({ message: 'Where to?', requestedSchema: city })
    return inputRequired({ inputRequests: { where }, requestState: 'asked once' })
  })
  server.registerTool('announce', { description: 'Says that the tools have changed' }, () => {
    toolsChanged()
    return { content: [{ type: 'text', text: 'announced' }] }
  })
  server.registerTool('wait', { description: 'Answers nothing until it is cancelled' }, (context) =>
    untilCancelled(context.mcpReq.signal, events),
  )
  return server
}

async function progress(context: ServerContext, step: number, total: number): Promise<void> {
  const progressToken = context.mcpReq._meta?.progressToken
  if (progressToken === undefined) return
  const params = { progressToken, progress: step, total }
  await context.mcpReq.notify({ method: 'notifications/progress', params })
}

async function untilCancelled(
  signal: AbortSignal,
  events: EventEmitter,
): Promise<{ content: { type: 'text'; text: string }[] }> {
  const aborted = signal.aborted || once(signal, 'abort')
  events.emit('waiting')
  await aborted
  events.emit('cancelled')
  return { content: [{ type: 'text', text: 'cancelled' }] }
}
