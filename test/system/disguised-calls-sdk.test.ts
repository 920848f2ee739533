// part: clients
import { type RequestListener } from 'node:http'
import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node'
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { disguiseTruth } from './disguise-truth.ts'
import { startUpstream } from '../support/wire.ts'

const opened = closers()
const TOOLS = ['pay', 'look', '5']

const v1: RequestListener = (req, res) => {
  const server = new McpServerV1({ name: 'v1', version: '1' })
  for (const tool of TOOLS) {
    server.registerTool(tool, {}, () => ({ content: [{ type: 'text', text: `ran:${tool};` }] }))
  }
  // Without sessions, each request has a transport of its own.
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  const connected = server.connect(transport)
  connected.then(() => transport.handleRequest(req, res)).catch(() => res.destroy())
}

const v2 = ((): RequestListener => {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'v2', version: '1' })
    for (const tool of TOOLS) {
      server.registerTool(tool, {}, () => ({ content: [{ type: 'text', text: `ran:${tool};` }] }))
    }
    return server
  })
  const serve = toNodeHandler(handler)
  return (req, res) =>
    void serve(req as NodeIncomingMessageLike, res).catch(() => void res.destroy())
})()

it.each([
  ['v1', v1],
  ['v2', v2],
])(
  'what a server of SDK %s reads in disguised calls is what is counted',
  async (_, listener) => {
    const server = opened(await startUpstream(listener))
    const { ran, wrong } = await disguiseTruth(server.url)
    expect(wrong).toEqual([])
    expect(ran.length).toBeGreaterThan(10)
  },
  60_000,
)
