import { afterEach, expect, test } from 'vitest'
import { closeAll } from './closing.ts'
import { load } from './load-run.ts'
import { startUpstream } from '../../../../test/support/wire.ts'

const open = closeAll(afterEach)

test('each client has a session of its own, holds streams, and ends it', async () => {
  const { host } = await startUpstream('session')
  open(host)
  let held = -1
  const result = await load(
    {
      url: new URL(host.url),
      work: { tools: ['end the stream'] },
      pace: { clients: 2, tasks: 2, hold: 2 },
      resilience: { timeoutMs: 20_000 },
    },
    { begun: () => (held = 2) },
  )
  expect(held).toBe(2)
  expect(result.held).toEqual({ asked: 2, opened: 2, refused: 0, lost: 0 })
  // It ends its stream before the response, which this client does not go after.
  expect(result.errors).toEqual([{ kind: 'incomplete', origin: 'unattributed', count: 2 }])
})

test('streams that a server does not have are refused and counted', async () => {
  const server = open(await startUpstream('scripted', ['ok']))
  const result = await load({ url: server.url, pace: { clients: 2, tasks: 2, hold: 5 } })
  expect(result.held).toEqual({ asked: 5, opened: 0, refused: 5, lost: 0 })
})

test('a session that the server has lost is begun anew for the calls that follow', async () => {
  const sessions: string[] = []
  let calls = 0
  const app = open(
    await startUpstream((request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        const body = Buffer.concat(parts).toString()
        const { id, method } = (body === '' ? {} : JSON.parse(body)) as {
          id?: number
          method?: string
        }
        const session = request.headers['mcp-session-id']
        response.setHeader('content-type', 'application/json')
        if (id === undefined) return response.writeHead(202).end()
        if (method === 'initialize') {
          response.setHeader('mcp-session-id', `s${sessions.push('begun')}`)
        } else if (method === 'tools/call' && ++calls > 3 && session !== `s${sessions.length}`) {
          return response.writeHead(404).end()
        } else if (method === 'tools/call' && calls === 3) {
          // The server restarts: it knows no session any more.
          sessions.push('lost')
        } else if (method === 'server/discover') {
          return response.writeHead(400).end()
        }
        const tools = [{ name: 'work', inputSchema: { type: 'object' } }]
        const result = { protocolVersion: '2025-11-25', capabilities: {}, tools, content: [] }
        return response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      })
    }),
  )
  const result = await load({
    url: new URL(`http://127.0.0.1:${app.port}/mcp`),
    work: { tools: ['work'] },
    pace: { clients: 1, tasks: 8 },
  })
  expect(result.errors).toEqual([{ kind: 'http', code: 404, origin: 'real', count: 1 }])
  expect(result.counts).toMatchObject({ calls: 8, success: 7 })
})
