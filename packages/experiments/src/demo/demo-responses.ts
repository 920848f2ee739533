import type { ServerResponse } from 'node:http'
import { DEMO_TOOLS, type DemoTool, listed } from './demo-tools.ts'
import type { Ending } from './demo-tools.ts'

/** The fields of a message that the demo's MCP server reads; any of them may be missing. */
export interface Request {
  readonly id?: string | number
  readonly method?: string
  readonly params?: {
    readonly name?: string
    readonly arguments?: Readonly<Record<string, unknown>>
    readonly _meta?: { readonly progressToken?: string | number }
  }
}

/** Longest that a caller can ask a tool to take. */
const MAX_TAKE_MS = 10_000

/** Answers everything that is not a tool call. */
export function responseMethod({ id, method }: Request, response: ServerResponse): void {
  if (id === undefined) {
    response.writeHead(202).end()
  } else if (method === 'initialize') {
    const serverInfo = { name: 'squall-demo-server', version: '1.0.0' }
    const capabilities = { tools: {}, logging: {} }
    json(response, { id, result: { protocolVersion: '2025-11-25', capabilities, serverInfo } })
  } else if (method === 'tools/list') {
    json(response, { id, result: { tools: DEMO_TOOLS.map(listed) } })
  } else if (method === 'ping') {
    json(response, { id, result: {} })
  } else {
    json(response, { id, error: { code: -32601, message: 'Method not found' } })
  }
}

/** Answers a tool call, well or in the way that the script wants. */
export function respondToCall(request: Request, ending: Ending, response: ServerResponse): void {
  const { id, params } = request
  const tool = DEMO_TOOLS.find(({ name }) => name === params?.name)
  const given = params?.arguments ?? {}
  switch (ending) {
    case 'reset':
      // Before the first byte: bytes and a reset that are read at once look like an orderly end.
      response.socket?.resetAndDestroy()
      return
    case 'http_error':
      response.writeHead(503, { 'Content-Type': 'text/plain', 'Retry-After': '1' })
      response.end('busy\n')
      return
    case 'rpc_error':
      json(response, { id, error: { code: -32603, message: 'the database is away' } })
      return
    case 'tool_error':
    case 'ok': {
      if (tool === undefined) {
        json(response, { id, error: { code: -32602, message: 'Unknown tool' } })
        return
      }
      const result = ending === 'ok' ? success(tool, given) : FAILED
      const takes = Math.min(Number(given['take_ms'] ?? 0), MAX_TAKE_MS)
      if (tool.steps === undefined) later(takes, () => json(response, { id, result }))
      else tell(request, tool.steps, takes, response, { id, result })
    }
  }
}

const EVENT_STREAM = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' }
const FAILED = { content: [{ type: 'text', text: 'nothing could be done' }], isError: true }

function success(tool: DemoTool, given: Readonly<Record<string, unknown>>): object {
  const { text, structured } = tool.response(String(given[tool.argument]))
  const content = [{ type: 'text', text }]
  return structured === undefined ? { content } : { content, structuredContent: structured }
}

/** Progress first, each step on its own, and then the response. */
function tell(
  request: Request,
  steps: number,
  takes: number,
  response: ServerResponse,
  answer: object,
): void {
  const token = request.params?._meta?.progressToken ?? request.id
  response.writeHead(200, EVENT_STREAM)
  response.flushHeaders()
  let step = 0
  const next = (): void => {
    if (response.destroyed) return
    step++
    if (step > steps) {
      response.end(event(answer))
      return
    }
    const params = { progressToken: token, progress: step, total: steps }
    response.write(event({ method: 'notifications/progress', params }))
    later(takes / steps, next)
  }
  next()
}

function later(ms: number, then: () => void): void {
  if (ms > 0) setTimeout(then, ms)
  else setImmediate(then)
}

function event(message: object): string {
  return `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
}

function json(response: ServerResponse, message: object): void {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message })
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  })
  response.end(body)
}
