// Runs a shop with two MCP servers that produces a retry storm: `node examples/agents/shop.mjs`.
//   inventory  port 3000: reserve_item uses one of ten pooled connections for 200 ms
//   orders     port 3001: place_order calls reserve_item through Squall, at INVENTORY_URL
// The orders server times out after a second and retries at once, without a limit, and without cancelling
// the abandoned call. Its own rate limiter allows 150 calls per second.
//   --fixed    limit attempts to six, back off between them, and cancel abandoned calls
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'

const { env } = process
const inventoryUrl = env.INVENTORY_URL ?? 'http://127.0.0.1:15300/mcp'
const isFixed = process.argv.includes('--fixed')

const POOL_SIZE = 10
const POOL_WAIT_MS = 1500
const WORK_MS = 200

let free = POOL_SIZE
const waiting = new Set()

/** Waits for a pooled connection, until the client closes its request. */
function connection(signal) {
  if (free > 0) {
    free--
    return Promise.resolve()
  }
  return new Promise((resolve, reject) => {
    const leave = (reason) => {
      waiting.delete(give)
      clearTimeout(late)
      reject(new Error(reason))
    }
    const late = setTimeout(leave, POOL_WAIT_MS, 'no connection of the pool in time')
    const give = () => {
      clearTimeout(late)
      resolve()
    }
    waiting.add(give)
    signal.addEventListener('abort', () => leave('the client is gone'), { once: true })
  })
}

function release() {
  const [give] = waiting
  if (give === undefined) free++
  else {
    waiting.delete(give)
    give()
  }
}

async function reserveItem({ item }, { signal }) {
  await connection(signal)
  try {
    await sleep(WORK_MS)
    return { item, reserved: true }
  } finally {
    release()
  }
}

const TIMEOUT_MS = 1000
const CALLS_PER_SECOND = 150

let allowed = CALLS_PER_SECOND
setInterval(
  () => (allowed = Math.min(CALLS_PER_SECOND, allowed + CALLS_PER_SECOND / 20)),
  50,
).unref()

async function callInventory(item, signal) {
  const response = await fetch(inventoryUrl, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'reserve_item', arguments: { item } },
    }),
    signal,
  })
  const { result } = await response.json()
  if (result === undefined || result.isError) throw new Error('inventory failed')
  return result.structuredContent
}

async function placeOrder({ item }) {
  for (let attempt = 1; ; attempt++) {
    if (allowed < 1) throw new Error('429: too many calls of orders to inventory')
    allowed--
    const signal = isFixed ? AbortSignal.timeout(TIMEOUT_MS) : undefined
    const call = callInventory(item, signal)
    const late = sleep(TIMEOUT_MS).then(() => Promise.reject(new Error('inventory is late')))
    try {
      return await Promise.race([call, late])
    } catch (error) {
      if (!isFixed) continue
      if (attempt === 6) throw error
      await sleep(20 * 2 ** attempt * Math.random())
    } finally {
      // An abandoned call may still fail.
      call.catch(() => {})
      late.catch(() => {})
    }
  }
}

function mcpServer(name, tool, run) {
  const server = new McpServer({ name, version: '1.0.0' })
  const about = {
    description: tool,
    inputSchema: { item: z.string() },
    outputSchema: { item: z.string(), reserved: z.boolean() },
    annotations: { readOnlyHint: false, destructiveHint: false },
  }
  server.registerTool(tool, about, async (args, extra) => {
    const structuredContent = await run(args, extra)
    return {
      content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
      structuredContent,
    }
  })
  return server
}

async function listen(name, tool, run, port) {
  const serve = async (request, response) => {
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
    response.on('close', () => void transport.close())
    await mcpServer(name, tool, run).connect(transport)
    await transport.handleRequest(request, response)
  }
  const server = createServer((request, response) => {
    serve(request, response).catch((error) => response.destroy(error))
  })
  server.listen(Number(port), '127.0.0.1')
  await once(server, 'listening')
  process.stdout.write(`${name} http://127.0.0.1:${server.address().port}/mcp\n`)
}

await listen('inventory', 'reserve_item', reserveItem, env.INVENTORY_PORT ?? 3000)
await listen('orders', 'place_order', placeOrder, env.ORDERS_PORT ?? 3001)
