// Runs a small MCP server to try Squall with: `node examples/server.mjs`. The server listens on
// 127.0.0.1:3000 (set HOST and PORT to change the address) at /mcp, and responds with event streams.
// GET /executed returns the number of calls to each tool.
//   --json      respond with JSON bodies
//   --failing   fail every fifth get_weather call, to compare real errors with injected errors
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'

const enableJsonResponse = process.argv.includes('--json')
const isFailing = process.argv.includes('--failing')
const executed = {}
const sessions = new Map()
let isReleased = false

const annotations = { readOnlyHint: true }

const tools = {
  search_docs: {
    description: 'Search the handbook',
    annotations,
    inputSchema: { query: z.string() },
    outputSchema: { results: z.array(z.object({ title: z.string(), score: z.number() })) },
    run: ({ query }) => ({
      results: [8, 7, 6, 5].map((score) => ({ title: `${query}, part ${9 - score}`, score })),
    }),
  },
  get_weather: {
    description: 'The weather in a city',
    annotations,
    inputSchema: { city: z.string() },
    outputSchema: { city: z.string(), temperature: z.number(), humidity: z.number() },
    run: ({ city }) => {
      if (isFailing && executed.get_weather % 5 === 0) throw new Error('no data from the station')
      return { city, temperature: 21.5, humidity: 40 }
    },
  },
  list_orders: {
    description: 'All orders of a customer',
    annotations,
    inputSchema: { customer: z.string() },
    outputSchema: { orders: z.array(z.object({ id: z.string(), total: z.number() })) },
    run: ({ customer }) => ({
      orders: Array.from({ length: 20 }, (_, n) => ({ id: `${customer}-${n + 1}`, total: n * 10 })),
    }),
  },
  create_ticket: {
    description: 'Opens a ticket. Not idempotent: two calls are two tickets',
    annotations: { readOnlyHint: false, destructiveHint: false },
    inputSchema: { title: z.string() },
    outputSchema: { ticket: z.number() },
    run: () => ({ ticket: executed.create_ticket }),
  },
  fetch_document: {
    description: 'The text of a document',
    annotations,
    inputSchema: { id: z.string() },
    run: ({ id }) => `${id}: ${'All work and no play. '.repeat(1000)}`,
  },
}

function mcpServer() {
  const server = new McpServer({ name: 'squall-examples', version: '1.0.0' })
  const register = (name, { run, ...about }) =>
    server.registerTool(name, about, (args) => {
      executed[name] = (executed[name] ?? 0) + 1
      const result = run(args)
      return typeof result === 'string'
        ? { content: [{ type: 'text', text: result }] }
        : {
            content: [{ type: 'text', text: JSON.stringify(result) }],
            structuredContent: result,
          }
    })
  let hasReport = false
  const release = () => {
    isReleased = true
    if (!hasReport) register('run_report', { description: 'New here', run: () => 'The report' })
    hasReport = true
  }
  for (const [name, tool] of Object.entries(tools)) register(name, tool)
  register('upgrade', {
    description: 'A new release of this server, with one more tool',
    annotations: { readOnlyHint: false, destructiveHint: false },
    run: () => {
      release()
      return 'upgraded'
    },
  })
  if (isReleased) release()
  return server
}

/** Opens a session for `initialize`. Calls without a session also work, for curl. */
async function transportFor(session, message) {
  if (session !== undefined) return sessions.get(session)
  const transport = new StreamableHTTPServerTransport({
    enableJsonResponse,
    sessionIdGenerator: message?.method === 'initialize' ? randomUUID : undefined,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  })
  await mcpServer().connect(transport)
  return transport
}

async function serve(request, response) {
  const json = (status, value) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  if (request.url === '/executed') return json(200, executed)
  if (request.url !== '/mcp') return json(404, { error: 'MCP is at /mcp' })
  let text = ''
  for await (const part of request.setEncoding('utf8')) text += part
  const message = text === '' ? undefined : JSON.parse(text)
  const transport = await transportFor(request.headers['mcp-session-id'], message)
  if (transport !== undefined) return transport.handleRequest(request, response, message)
  const error = { code: -32001, message: 'Session not found' }
  return json(404, { jsonrpc: '2.0', id: null, error })
}

const server = createServer((request, response) => {
  serve(request, response).catch((error) => response.destroy(error))
})
const host = process.env.HOST ?? '127.0.0.1'
server.listen(Number(process.env.PORT ?? 3000), host, () =>
  process.stdout.write(
    `http://${host.includes(':') ? `[${host}]` : host}:${server.address().port}/mcp\n`,
  ),
)
// PID 1 in a container has no default signal handlers.
process.on('SIGTERM', () => {
  server.close(() => process.exit())
  setTimeout(() => process.exit(), 2000).unref()
})
