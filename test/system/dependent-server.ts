import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/** Deviations of the server from what the ready plans expect. */
export type Flaw =
  | 'hangs'
  | 'fails to initialize'
  | 'healthy without dependency'
  | 'never recovers'
  | 'ready without room'
  | 'empty without room'

/** The server's dependency, its room for sessions, and its flaw. */
export interface DependentSetup {
  /** URL of the dependency; without it the server needs none. */
  readonly dependency?: string
  /** The number of held streams that leave no room. */
  readonly room?: number
  readonly flaw?: Flaw | undefined
}

const TOOL = {
  name: 'search_docs',
  annotations: { readOnlyHint: true },
  inputSchema: { type: 'object', properties: {} },
}

interface Message {
  readonly id?: unknown
  readonly method?: string
}

/** Returns the listener of an MCP server with sessions, `/health` and `/ready`, and with a dependency. */
export function dependentListener(setup: DependentSetup): RequestListener {
  const { dependency, room = Infinity, flaw } = setup
  let sessions = 0
  let held = 0
  let crowded = 0
  let isBroken = false
  const depends = async (): Promise<boolean> => {
    if (dependency === undefined) return true
    try {
      const response = await fetch(dependency, { signal: AbortSignal.timeout(1000) })
      await response.arrayBuffer()
      return true
    } catch {
      if (flaw === 'never recovers') isBroken = true
      return false
    }
  }
  const isFull = (): boolean => held >= room
  const call = async (id: unknown, response: ServerResponse): Promise<void> => {
    const works = (await depends()) && !isBroken
    // Each held session makes each call a little slower.
    if (held > 0) await new Promise((resolve) => setTimeout(resolve, 50 * held))
    if (!works && flaw === 'hangs') return
    if (!works) return json(response, { id, result: { ...text('no database'), isError: true } })
    // Without room, every second call still gets a connection.
    if (!isFull() || ++crowded % 2 === 0) return json(response, { id, result: text('found') })
    if (flaw === 'empty without room') return json(response, { id, result: { content: [] } })
    return json(response, { id, result: { ...text('no free connection'), isError: true } })
  }
  const respond = async (message: Message, response: ServerResponse): Promise<void> => {
    const { id, method } = message
    if (id === undefined) return void response.writeHead(202).end()
    if (method === 'tools/call') return call(id, response)
    if (method === 'tools/list') return json(response, { id, result: { tools: [TOOL] } })
    if (flaw === 'fails to initialize' && !(await depends())) {
      return void response.writeHead(500).end()
    }
    response.setHeader('mcp-session-id', `session-${++sessions}`)
    const serverInfo = { name: 'dependent', version: '1.0.0' }
    const capabilities = { tools: {} }
    json(response, { id, result: { protocolVersion: '2025-11-25', capabilities, serverInfo } })
  }
  const listener = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url = '', method } = request
    if (url === '/health') {
      const ok = flaw === 'healthy without dependency' || ((await depends()) && !isBroken)
      return void response.writeHead(ok ? 200 : 503).end()
    }
    if (url === '/ready') {
      const ok = flaw === 'ready without room' || !isFull()
      return void response.writeHead(ok ? 200 : 503).end()
    }
    if (method === 'GET') {
      held++
      response.once('close', () => held--)
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n')
      return
    }
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    if (method !== 'POST') return void response.writeHead(204).end()
    await respond(JSON.parse(Buffer.concat(parts).toString()) as Message, response)
  }
  return (request, response) => {
    // A client that goes away ends its request.
    listener(request, response).catch(() => response.destroy())
  }
}

function text(value: string): { readonly content: readonly object[] } {
  return { content: [{ type: 'text', text: value }] }
}

function json(response: ServerResponse, message: object): void {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ jsonrpc: '2.0', ...message }))
}
