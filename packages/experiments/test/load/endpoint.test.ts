import { afterEach, expect, test } from 'vitest'
import type { RequestListener } from 'node:http'
import { closeAll } from './closing.ts'
import { load } from './load-run.ts'
import { startUpstream, tlsText } from '../../../../test/support/wire.ts'

const open = closeAll(afterEach)

async function refusal(listener: RequestListener, tools: readonly string[] = []): Promise<string> {
  const app = open(await startUpstream(listener))
  const url = new URL(`http://127.0.0.1:${app.port}/mcp`)
  return load({ url, work: { tools }, pace: { tasks: 1 } }).then(
    () => 'it began',
    (error: Error) => error.message,
  )
}

const responding =
  (status: number, type = 'text/html', body = '<p>hi</p>'): RequestListener =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': type }).end(body)
  }

test('what is no MCP endpoint is refused with the next step', async () => {
  expect(await refusal(responding(200))).toMatch(/is not an MCP server: .*text\/html; pass the URL/)
  expect(await refusal(responding(404))).toMatch(/no MCP endpoint.*404.*full URL/)
  expect(await refusal(responding(405))).toMatch(/no MCP endpoint.*405.*full URL/)
  expect(await refusal(responding(401))).toMatch(/requires authentication.*--auth-token-file/)
  expect(await refusal(responding(403))).toMatch(/requires authentication.*--auth-token-file/)
  expect(await refusal(responding(500))).toMatch(/status 500/)
  expect(await refusal((request) => request.socket.resetAndDestroy())).toMatch(
    /closed the connection/,
  )
})

test('where nothing listens it is said', async () => {
  const server = await startUpstream('scripted', ['ok'])
  await server.close()
  await expect(load({ url: server.url, pace: { tasks: 1 } })).rejects.toThrow(
    /the target cannot be reached \(ECONNREFUSED\); check host and port/,
  )
})

test('a certificate that is not trusted is named, with the way to trust it', async () => {
  const tls = { cert: tlsText('first.pem'), key: tlsText('first.key') }
  const app = open(await startUpstream(responding(200), undefined, tls))
  const url = new URL(`https://localhost:${app.port}/mcp`)
  await expect(load({ url, pace: { tasks: 1 } })).rejects.toThrow(
    /certificate of the target is not trusted \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\); set NODE_EXTRA_CA_CERTS/,
  )
})

test('an unknown tool is answered with the nearest name, no tools with what to check', async () => {
  const server = open(await startUpstream('scripted', ['ok']))
  await expect(load({ url: server.url, work: { tools: ['wrok'] } })).rejects.toThrow(
    'the server has no tool "wrok"; did you mean work?',
  )
  expect(await refusal(withoutTools)).toMatch(/lists no tools; check/)
})

const withoutTools: RequestListener = (request, response) => {
  request.resume()
  const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {}, tools: [] }
  const ids = /"id":(\d+)/
  request.once('data', (part: Buffer) => {
    const id = Number(ids.exec(part.toString())?.[1] ?? 0)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
}

test('the connection on which a method was rejected carries no other request', async () => {
  const rejected = new WeakSet<object>()
  let others = 0
  const found = await refusal((request, response) => {
    const { socket } = request
    if (rejected.has(socket)) others++
    if (request.headers['mcp-method'] === 'server/discover') {
      rejected.add(socket)
      response.writeHead(400).end()
    } else {
      withoutTools(request, response)
    }
  })
  expect(found).toMatch(/lists no tools; check/)
  expect(others).toBe(0)
})

test('headers are sent with every request and are in no result', async () => {
  const server = open(await startUpstream('scripted', ['ok']))
  const result = await load({
    url: new URL(`${server.url.href}?key=hidden`),
    headers: { authorization: 'Bearer secret-token', 'x-team': 'blue' },
    pace: { clients: 1, tasks: 1 },
  })
  expect(server.headers()).toMatchObject({ authorization: 'Bearer secret-token', 'x-team': 'blue' })
  const text = JSON.stringify(result)
  expect(text).not.toMatch(/secret-token|hidden|blue/)
  expect(result.run.options['headers']).toEqual(['authorization', 'x-team'])
})
