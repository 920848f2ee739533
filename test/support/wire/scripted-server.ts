import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { httpServer } from './http-app.ts'

/** The way in which the scripted server ends a call. */
export type Ending =
  | 'ok'
  | 'tool error'
  | 'bad arguments'
  | 'rpc error'
  | 'status 503'
  | 'status 404'
  | 'status 429'
  | 'squall 502'
  | 'reset'
  | 'hang'
  | 'wrong schema'
  | 'empty'
  | 'cut stream'
  | 'stream ok'
  | 'no json'

/** An ending, with the mark of a fault or without. */
export type Step = Ending | { readonly ending: Ending; readonly marker: string }

/** An MCP server that fails as its script says. */
export interface ScriptedServer {
  readonly url: URL
  /** The calls that came, in their order. */
  readonly calls: { readonly tool: string; readonly args: unknown; readonly at: number }[]
  /** The headers of the last request. */
  headers(): IncomingMessage['headers']
  close(): Promise<void>
}

const annotations = { readOnlyHint: true }

const TOOLS = [
  {
    name: 'work',
    annotations,
    inputSchema: { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] },
    outputSchema: {
      type: 'object',
      properties: { total: { type: 'number' } },
      required: ['total'],
    },
  },
  { name: 'rest', inputSchema: { type: 'object' }, annotations },
]

/** Returns the step of the server for each call, by the number of the call. */
export type CallScript = (call: number) => Step | Promise<Step>

/** Starts it. The steps are taken in the order of the calls; the last one stays. */
export async function scriptedServer(
  script: readonly Step[] | CallScript,
  tools: readonly object[] = TOOLS,
): Promise<ScriptedServer> {
  const calls: ScriptedServer['calls'] = []
  let headers: IncomingMessage['headers'] = {}
  const next: CallScript =
    typeof script === 'function' ? script : (call) => script[call] ?? script.at(-1)!
  const listener = scriptedListener(next, (call) => calls.push(call) - 1, tools)
  const app = await httpServer((request, response) => {
    headers = request.headers
    listener(request, response)
  })
  return {
    url: new URL(`http://127.0.0.1:${app.port}/mcp`),
    calls,
    headers: () => headers,
    close: () => app.close(),
  }
}

/** Returns a listener for the requests; `note` receives each call and returns its number. */
export function scriptedListener(
  script: CallScript,
  note: (call: ScriptedServer['calls'][number]) => number = () => 0,
  tools: readonly object[] = TOOLS,
): RequestListener {
  return (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      if (request.method !== 'POST') {
        response.writeHead(405).end()
        return
      }
      const message = JSON.parse(Buffer.concat(parts).toString()) as Message
      void answer(message, response, script, note, tools)
    })
  }
}

async function answer(
  { id, method, params }: Message,
  response: ServerResponse,
  script: CallScript,
  note: (call: ScriptedServer['calls'][number]) => number,
  tools: readonly object[],
): Promise<void> {
  if (id === undefined) {
    response.writeHead(202).end()
  } else if (method === 'initialize') {
    const serverInfo = { name: 'scripted', version: '1.0.0' }
    const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }
    json(response, { id, result })
  } else if (method === 'tools/list') {
    json(response, { id, result: { tools } })
  } else if (method === 'tools/call') {
    const call = { tool: params!.name!, args: params!.arguments, at: performance.now() }
    const step = await script(note(call))
    const ending = typeof step === 'string' ? step : step.ending
    if (typeof step !== 'string') response.setHeader('x-squall-fault', step.marker)
    end(ending, id, response)
  } else {
    json(response, { id, error: { code: -32601, message: 'not here' } })
  }
}

interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly params?: { readonly name?: string; readonly arguments?: unknown }
}

const content = [{ type: 'text', text: 'done' }]

function end(ending: Ending, id: unknown, response: ServerResponse): void {
  switch (ending) {
    case 'ok':
      return json(response, { id, result: { content, structuredContent: { total: 3 } } })
    case 'wrong schema':
      return json(response, { id, result: { content, structuredContent: { total: 'many' } } })
    case 'empty':
      return json(response, { id, result: { content, structuredContent: { total: 0 } } })
    case 'tool error':
      return json(response, { id, result: { content, isError: true } })
    case 'bad arguments': {
      const text = 'MCP error -32602: Invalid arguments'
      return json(response, { id, result: { content: [{ type: 'text', text }], isError: true } })
    }
    case 'rpc error':
      return json(response, { id, error: { code: -32603, message: 'it broke' } })
    case 'status 503':
      response.writeHead(503, { 'content-type': 'text/html' }).end('<h1>no</h1>')
      return
    case 'status 404':
    case 'status 429':
      response.writeHead(Number(ending.slice(-3))).end()
      return
    case 'squall 502':
      response.writeHead(502, { 'x-squall-error': 'connect' }).end()
      return
    case 'reset':
      response.socket!.resetAndDestroy()
      return
    case 'hang':
      return
    case 'cut stream':
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n')
      return
    case 'stream ok': {
      const result = { content, structuredContent: { total: 3 } }
      const data = JSON.stringify({ jsonrpc: '2.0', id, result })
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`: x-squall-fault rule/delay\n\nevent: message\ndata: ${data}\n\n`)
      return
    }
    case 'no json':
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc"')
      return
  }
}

function json(response: ServerResponse, message: object): void {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ jsonrpc: '2.0', ...message }))
}
