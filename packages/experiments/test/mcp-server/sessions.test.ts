import { LATEST_PROTOCOL_VERSION } from '@modelcontextprotocol/sdk/types.js'
import { McpServer } from '@modelcontextprotocol/server'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { listenHttp, PATH } from '../../src/mcp-server/http-front.ts'
import { openAgent } from './agent.ts'

const INITIALIZE = {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: LATEST_PROTOCOL_VERSION,
      capabilities: {},
      clientInfo: { name: 'agent', version: '1.0.0' },
    },
  }),
}

const create = (): McpServer => new McpServer({ name: 'squall', version: '1.0.0' })
const listen = () => listenHttp({ kind: 'tcp', host: '127.0.0.1', port: 0 }, undefined, create)

it('a request with another host name is rejected with a flag of squall mcp', async () => {
  const front = await listen()
  const { port } = front.address
  const body = await new Promise<string>((resolve, reject) => {
    request({ port, host: '127.0.0.1', path: PATH, headers: { host: 'mcp.local' } })
      .on('response', (response) => resolve(text(response)))
      .on('error', reject)
      .end()
  })
  expect(body).toContain('use the IP address, or set --token-file')
  await front.close()
})

it('the sessions of clients that have left make room for the next client', async () => {
  const front = await listen()
  const url = new URL(`http://127.0.0.1:${front.address.port}${PATH}`)
  const stays = await openAgent({ server: url })
  for (let count = 0; count < 70; count++) {
    const response = await fetch(url, INITIALIZE)
    await response.text()
    expect(response.status).toBe(200)
  }
  // Its stream of events is open.
  await stays.client.ping()
  await stays.close()
  await front.close()
})
