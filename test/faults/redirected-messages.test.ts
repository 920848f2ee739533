import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { startSidecar } from '../support/wire.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const NOTE = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } }
const KEYS = 'match: { method: notifications/cancelled }'

/** An upstream mounted at `/mcp/`, which notes the bodies that it gets there. */
function mounted(bodies: string[]): RequestListener {
  return (req, res) => {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      if (req.url === '/mcp') return void res.writeHead(307, { location: '/mcp/' }).end()
      bodies.push(Buffer.concat(parts).toString())
      return void res.writeHead(202).end()
    })
  }
}

it.each([
  ['delay: { fixed: 1ms }', [NOTE]],
  ['amplify: { copies: 1 }', [NOTE, NOTE]],
])('a redirected notification meets %s once', async (fault, texts) => {
  const bodies: string[] = []
  const rules = [oneFault(fault, KEYS)]
  const stage = opened(await startSidecar({ rules, upstream: mounted(bodies) }))
  const got = await fetch(`${stage.url}/mcp`, {
    method: 'POST',
    body: JSON.stringify(NOTE),
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  })
  expect(got.status).toBe(202)
  await expect.poll(() => bodies.map((each): unknown => JSON.parse(each))).toEqual(texts)
  expect(stage.counts()).toMatchObject({ matched: 1 })
})
