// An MCP server that does next to nothing, in a process of its own: what is measured is the load.
import { createServer } from 'node:http'

const TOOLS = [
  { name: 'work', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
]

const RESULTS = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'load-app', version: '1.0.0' },
  },
  'tools/list': { tools: TOOLS },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
}

const server = createServer((request, response) => {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => {
    if (request.method !== 'POST') {
      response.writeHead(405).end()
      return
    }
    const { id, method } = JSON.parse(Buffer.concat(parts))
    if (id === undefined) {
      response.writeHead(202).end()
      return
    }
    const result = RESULTS[method]
    const answer =
      result === undefined ? { error: { code: -32601, message: 'not here' } } : { result }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })
})
// A process that was stopped for a while must not find its connections timed out.
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
