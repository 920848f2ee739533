import { gzipSync } from 'node:zlib'
import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { call, callMessage, post, RawClient, rpcPost, startSidecar } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { PushApp } from './push-app.ts'
import { jsonApp, resultText } from './apps.ts'
import { HTTP_RULE, onBody, onOutput, PASSING, whole } from './output-faults.ts'
import { oneFault, REPLACED } from './one-fault.ts'

const opened = closers()
const rules = [REPLACED]

/** An upstream that responds with these lines and this body. */
function responding(headers: Record<string, string>, body: string | Buffer): RequestListener {
  return (req, res) => {
    req.resume()
    res.writeHead(200, headers)
    res.end(body)
  }
}

it('acts on a plain exchange that a rule about HTTP matches', async () => {
  const upper = onBody(async function* (source, ctx) {
    for await (const chunk of source) {
      ctx.injected()
      yield Buffer.from(Buffer.from(chunk).toString().toUpperCase())
    }
  })
  const app = responding({ 'content-length': '5' }, 'hello')
  const stage = opened(await startSidecar({ rules: [HTTP_RULE], faults: [upper], upstream: app }))
  const client = await RawClient.connect(stage.port)
  await client.send('GET /mcp HTTP/1.1\r\nHost: pod\r\n\r\n', 'GET')
  expect((await client.response())!.body.toString()).toBe('HELLO')
  expect(stage.injected[0]!.call).toBeUndefined()
  client.close()
})

it.each([
  ['HEAD', 200],
  ['GET', 204],
  ['GET', 304],
] as const)('keeps %s %i without a body, whatever a transform gives', async (method, status) => {
  const adding = onOutput((ctx, { head, body }) => {
    ctx.injected()
    return {
      head,
      body: (async function* () {
        yield* body
        yield Buffer.from('more')
      })(),
    }
  })
  const app: RequestListener = (_, res) => {
    if (status === 200) res.setHeader('content-length', '100')
    res.writeHead(status).end()
  }
  const stage = opened(await startSidecar({ rules: [HTTP_RULE], faults: [adding], upstream: app }))
  const client = await RawClient.connect(stage.port)
  for (const index of [0, 1]) {
    await client.send(`${method} /mcp HTTP/1.1\r\nHost: pod\r\n\r\n`, method)
    expect(await client.response(index)).toMatchObject({ status, bodyBytes: 0, complete: true })
  }
  expect(client.violations).toEqual([])
  client.close()
})

it.each(['truncate', 'truncate: { framing: clean }', 'throttle', 'hang: { at: headers }'])(
  'has nothing to act on with %s in a response without a body',
  async (fault) => {
    const keys = 'match: { http: { path: /mcp } }'
    const app: RequestListener = (_, res) => void res.setHeader('content-length', '100').end()
    const parts = { rules: [oneFault(fault, keys)], upstream: app }
    const stage = opened(await startSidecar(parts))
    const client = await RawClient.connect(stage.port)
    for (const index of [0, 1]) {
      await client.send('HEAD /mcp HTTP/1.1\r\nHost: pod\r\n\r\n', 'HEAD')
      await client.response(index)
    }
    expect(client.text.match(/content-length: 100/gi)).toHaveLength(2)
    expect(client.text).not.toContain('x-squall-fault')
    expect(stage.counts()).toMatchObject({ injected: 0, not_applicable: 2 })
    expect(stage.notApplicable[0]).toMatchObject({ reason: 'nothing_to_act_on' })
    client.close()
  },
)

it('leaves batches and what is answered elsewhere alone, and says so', async () => {
  const marker = onOutput((ctx, out) => (ctx.injected(), out))
  const batch = opened(await startSidecar({ rules, faults: [marker], upstream: jsonApp }))
  await call({ ...batch, headers: { 'x-batch': '1' } }, [callMessage(1), callMessage(2, 'other')])
  expect(batch.notApplicable).toMatchObject([{ reason: 'shared_exchange' }])
  const old = opened(await PushApp.open(rules, { faults: [marker] }))
  await old.listen('s')
  await old.call('s', 1)
  expect(old.faults.notApplicable).toMatchObject([{ reason: 'responded_elsewhere' }])
  expect([batch, old.faults].map((each) => each.counts().not_applicable)).toEqual([1, 1])
})

it('gives coded bytes as they are', async () => {
  const coded = gzipSync(resultText(1))
  const seen: Uint8Array[] = []
  const noting = onBody(async function* (source) {
    for await (const chunk of source) {
      seen.push(chunk)
      yield chunk
    }
  })
  const app = responding({ 'content-type': 'application/json', 'content-encoding': 'gzip' }, coded)
  const stage = opened(await startSidecar({ rules, faults: [noting], upstream: app }))
  const res = await post(stage, callMessage(1))
  expect(res.headers['content-encoding']).toBe('gzip')
  expect((await whole(res)).equals(coded)).toBe(true)
  expect(Buffer.concat(seen).equals(coded)).toBe(true)
})

it('passes trailers on, unless the body was cut short', async () => {
  const app: RequestListener = (req, res) => {
    req.resume()
    res.writeHead(200, { 'content-type': 'text/plain', trailer: 'x-end' })
    res.addTrailers({ 'x-end': 'yes' })
    res.write('one')
    res.end()
  }
  const first = onOutput((ctx, { head, body }) => ({
    head,
    body: (async function* () {
      for await (const chunk of body) {
        ctx.injected()
        yield chunk.subarray(0, 1)
        return
      }
    })(),
  }))
  const trailers: unknown[] = []
  for (const fault of [PASSING, first]) {
    const stage = opened(await startSidecar({ rules, faults: [fault], upstream: app }))
    const client = await RawClient.connect(stage.port)
    await client.send(rpcPost(JSON.stringify(callMessage(1)), 'TE: trailers\r\n'), 'POST')
    const got = (await client.response())!
    trailers.push([got.complete, got.body.toString(), got.trailers])
    client.close()
  }
  expect(trailers).toEqual([
    [true, 'one', ['x-end', 'yes']],
    [true, 'o', []],
  ])
})
