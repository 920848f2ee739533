import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import type { Fault } from '../../src/filters/fault.ts'
import { headersForChangedBody } from '../../src/http/changed-body-headers.ts'
import { call, callMessage, RawClient, startSidecar, toolCall } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { jsonApp, resultText, sseApp, streamText, whenAsked } from './apps.ts'
import { onOutput, PASSING, whole } from './output-faults.ts'
import { REPLACED } from './one-fault.ts'

const opened = closers()
const rules = [REPLACED]

it.each([jsonApp, sseApp])('passes a response byte for byte, framed as it was', async (app) => {
  const plain = opened(await startSidecar({ rules, faults: [], upstream: app }))
  const stage = opened(await startSidecar({ rules, faults: [PASSING, PASSING], upstream: app }))
  const texts: string[] = []
  for (const { port } of [plain, stage]) {
    const client = await RawClient.connect(port)
    await client.send(toolCall(1), 'POST')
    const { headers, body, framing, complete } = (await client.response())!
    const lines = headers.filter((_, i) => headers[i - (i % 2)]!.toLowerCase() !== 'date')
    texts.push(JSON.stringify({ lines, body: body.toString(), framing, complete }))
    client.close()
  }
  expect(texts[1]).toBe(texts[0])
  expect(stage.notApplicable).toMatchObject([
    { reason: 'nothing_to_act_on' },
    { reason: 'nothing_to_act_on' },
  ])
  expect(stage.counts().not_applicable).toBe(1)
  expect(await stage.origins()).toEqual(['real'])
})

it('changes head and body, faults in the order written, and marks the head', async () => {
  const append = (letter: string): Fault =>
    onOutput(async (ctx, { head, body }) => {
      const bytes = await whole(body)
      ctx.injected(letter)
      const status = head.status + 1
      const headers = [...headersForChangedBody(head.headers, bytes.length + 1), 'X-Way', letter]
      return {
        head: { ...head, status, headers },
        body: one(Buffer.concat([bytes, Buffer.from(letter)])),
      }
    })
  const stage = opened(
    await startSidecar({ rules, faults: [append('a'), append('b')], upstream: jsonApp }),
  )
  const got = await call(stage, callMessage(1))
  expect(got.status).toBe(202)
  expect(got.headers['x-way']).toBe('a, b')
  expect(got.headers['x-squall-fault']).toBe('r/delay')
  expect(got.text).toBe(`${resultText(1)}ab`)
  expect(stage.injected.map(({ effect }) => effect)).toEqual(['a', 'b'])
  expect(stage.counts().injected).toBe(1)
  expect(await stage.origins()).toEqual(['injected'])
})

it('makes the outcome by a status alone', async () => {
  const failing = onOutput((ctx, out) => {
    ctx.injected()
    return { ...out, head: { ...out.head, status: 500, reason: 'No' } }
  })
  const stage = opened(await startSidecar({ rules, faults: [failing], upstream: jsonApp }))
  const got = await call(stage, callMessage(1))
  expect([got.status, got.text]).toEqual([500, resultText(1)])
  expect(await stage.origins()).toEqual(['injected'])
})

it('takes what the other hooks made of the response', async () => {
  const early: Fault = {
    onOutput: async (_, out) => {
      const bytes = Buffer.from(`<${(await whole(out.body)).toString()}>`)
      return {
        head: { ...out.head, headers: headersForChangedBody(out.head.headers) },
        body: one(bytes),
      }
    },
  }
  const late: Fault = {
    async *onResponse(ctx, frames) {
      for await (const frame of frames) {
        ctx.injected()
        yield { ...frame, raw: Buffer.from('changed') }
      }
    },
  }
  const stage = opened(await startSidecar({ rules, faults: [early, late], upstream: jsonApp }))
  const got = await call(stage, callMessage(1))
  expect(got.text).toBe('<changed>')
  expect(got.headers['x-squall-fault']).toBe('r/delay')
})

it('has no part in what a fault answers, before or after the upstream', async () => {
  const seen: string[] = []
  const noting = onOutput((_, out) => (seen.push('out'), out))
  const reply = { kind: 'rpcError', code: 1, message: 'no' } as const
  for (const hook of ['onRequest', 'beforeResponse'] as const) {
    const abort: Fault = { [hook]: () => ({ kind: 'respond', reply }) }
    for (const app of [jsonApp, finalApp]) {
      const stage = opened(await startSidecar({ rules, faults: [noting, abort], upstream: app }))
      const got = await call(stage, callMessage(1))
      expect(got.text).toContain('"code":1')
      expect(stage.counts().injected).toBe(1)
    }
  }
  expect(seen).toEqual([])
})

it('streams: the head and each chunk go out as they come', async () => {
  let go: (() => void) | undefined
  const stage = opened(
    await startSidecar({
      rules,
      faults: [PASSING],
      upstream: (req, res) => {
        req.resume()
        res.writeHead(200, { 'content-type': 'application/json', 'content-length': '4' })
        res.flushHeaders()
        go = () => {
          res.write('ab')
          go = () => res.end('cd')
        }
      },
    }),
  )
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await client.head()
  go!()
  expect(await client.sees('ab')).toBe(true)
  expect(client.responses).toEqual([])
  go!()
  expect((await client.response())!.body.toString()).toBe('abcd')
  client.close()
})

it('sends the head at once and lets the body hang, until the rule is taken back', async () => {
  const hanging = onOutput((ctx, { head, body }) => {
    ctx.injected('headers')
    return {
      head,
      body: (async function* () {
        await ctx.sleep(Infinity)
        yield* body
      })(),
    }
  })
  const stage = opened(await startSidecar({ rules, faults: [hanging], upstream: jsonApp }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  const head = await client.head()
  expect(head!.headers).toContain('r/delay')
  expect(head!.bodyBytes).toBe(0)
  expect(stage.active()).toBe(1)
  stage.disarm()
  expect((await client.response())!.body.toString()).toBe(resultText(1))
  expect(stage.active()).toBe(0)
  // The framing was kept, and so the connection is good for another call.
  await client.send(toolCall(2), 'POST')
  expect((await client.response(1))!.body.toString()).toBe(resultText(2))
  expect(stage.counts().injected).toBe(1)
  client.close()
})

it.each(['headers', 'body'] as const)(
  'frees everything at once when the client leaves a transform that sleeps (%s)',
  async (at) => {
    const closed: string[] = []
    const sleeping = onOutput(async (ctx, { head, body }) => {
      ctx.injected()
      if (at === 'headers') await ctx.sleep(Infinity).finally(() => closed.push('slept'))
      return {
        head,
        body: (async function* () {
          try {
            for await (const chunk of body) {
              await ctx.sleep(Infinity)
              yield chunk
            }
          } finally {
            closed.push('slept')
          }
        })(),
      }
    })
    let appGone: Promise<unknown> | undefined
    const app: RequestListener = (req, res) => {
      req.resume()
      appGone = once(res, 'close')
      res.setHeader('content-type', 'text/event-stream')
      res.write(streamText(1))
    }
    const stage = opened(await startSidecar({ rules, faults: [PASSING, sleeping], upstream: app }))
    const client = await RawClient.connect(stage.port)
    await client.send(toolCall(1), 'POST')
    await stage.until(() => stage.injected.length === 1)
    expect(stage.active()).toBe(1)
    client.reset()
    await stage.settled()
    await appGone
    expect(closed).toEqual(['slept'])
    expect(stage.active()).toBe(0)
    expect(await stage.origins()).toEqual(['injected'])
  },
)

/** A stream whose first message is the response. */
const finalApp: RequestListener = (req, res) => {
  whenAsked(req, () => {
    res.setHeader('content-type', 'text/event-stream')
    res.end(`data: ${resultText(1)}\n\n`)
  })
}

/** One chunk as a body. */
async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes
}
