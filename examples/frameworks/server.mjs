// Runs the MCP server for the scripted agents with sessions (`node server.mjs sessions`, protocol version
// 2025-11-25) or without (`node server.mjs stateless`, 2026-07-28), and prints its address.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createMcpHandler, McpServer as StatelessServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

const TRIP = { trip: 'TR-48213', price: 4187.23 }
const BOOKING = { booking: 'BK-771204', status: 'confirmed', price: 4187.23 }
const trip = { trip: z.string(), price: z.number() }
const booking = { booking: z.string(), status: z.string(), price: z.number() }
const readOnly = { readOnlyHint: true }
const TOOLS = [
  ['search_trips', { to: z.string() }, trip, readOnly, TRIP],
  ['book_trip', trip, booking, { destructiveHint: true }, BOOKING],
  ['get_booking', { booking: z.string() }, booking, readOnly, BOOKING],
]

function withTools(server, schema) {
  for (const [name, input, output, annotations, result] of TOOLS) {
    const tool = { inputSchema: schema(input), outputSchema: schema(output), annotations }
    const content = [{ type: 'text', text: JSON.stringify(result) }]
    server.registerTool(name, tool, () => ({ content, structuredContent: result }))
  }
  return server
}

const sessions = new Map()

async function withSessions(request, response) {
  const body = request.method === 'POST' ? await json(request) : undefined
  let transport = sessions.get(request.headers['mcp-session-id'])
  if (transport === undefined && body?.method === 'initialize') {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: (id) => sessions.set(id, transport),
    })
    const server = new McpServer({ name: 'trips', version: '1' })
    await withTools(server, (shape) => shape).connect(transport)
  }
  if (transport === undefined) response.writeHead(404).end()
  else await transport.handleRequest(request, response, body)
}

const stateless = () =>
  withTools(new StatelessServer({ name: 'trips', version: '1' }), (shape) => z.object(shape))
const respond =
  process.argv[2] === 'stateless' ? toNodeHandler(createMcpHandler(stateless)) : withSessions
const server = createServer((request, response) => void respond(request, response))
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`http://127.0.0.1:${server.address().port}/mcp\n`),
)
