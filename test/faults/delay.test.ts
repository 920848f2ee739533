import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import {
  call,
  callMessage,
  post,
  RawClient,
  startSidecar,
  textOf,
  toolCall,
} from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { jsonApp, resultText, sseApp, streamText, whenAsked } from './apps.ts'
import { ECHO, oneFault } from './one-fault.ts'

const opened = closers()
const MS = 40

function delay(at: 'request' | 'response' | 'event', fixed = `${MS}ms`, keys = ECHO) {
  return oneFault(`delay: { fixed: ${fixed}, max: 1h, at: ${at} }`, keys, 'slow')
}

const WITHOUT_COMMENTS = /: x-squall-fault [^\n]*\n\n/g

it.each(['request', 'response'] as const)(
  'delays a JSON response at %s and leaves its bytes',
  async (at) => {
    const stage = opened(await startSidecar({ rules: [delay(at)], upstream: jsonApp }))
    const start = performance.now()
    const got = await call(stage, callMessage(1))
    expect(performance.now() - start).toBeGreaterThanOrEqual(MS - 2)
    expect(got.text).toBe(resultText(1))
    expect(got.headers['x-squall-fault']).toBe('slow/delay')
    expect(stage.injected).toMatchObject([
      { rule: 'slow', fault: 'delay', delayMs: MS, first: true },
    ])
    expect(stage.counts().injected).toBe(1)
    expect(stage.active()).toBe(0)
    expect(await stage.origins()).toEqual(['real'])
  },
)

it('delays the last event of a stream, marks it, and leaves every byte', async () => {
  const stage = opened(await startSidecar({ rules: [delay('response')], upstream: sseApp }))
  const got = await call(stage, callMessage(1))
  expect(got.headers['x-squall-fault']).toBeUndefined()
  const [before, after] = streamText(1).split('id: 2')
  expect(got.text).toBe(`${before}: x-squall-fault slow/delay\n\nid: 2${after}`)
  expect(stage.injected).toHaveLength(1)
})

it('delays each event of a stream and marks each', async () => {
  const stage = opened(await startSidecar({ rules: [delay('event', '20ms')], upstream: sseApp }))
  const start = performance.now()
  const got = await call(stage, callMessage('a'))
  expect(performance.now() - start).toBeGreaterThanOrEqual(55)
  expect(got.text.match(WITHOUT_COMMENTS)).toHaveLength(3)
  expect(got.text.replace(WITHOUT_COMMENTS, '')).toBe(streamText('a'))
  expect(stage.injected.map(({ first }) => first)).toEqual([true, false, false])
  expect(stage.counts().injected).toBe(1)
})

it('counts an event delay as not applicable to a JSON response, which stays as it was', async () => {
  const stage = opened(await startSidecar({ rules: [delay('event')], upstream: jsonApp }))
  const got = await call(stage, callMessage(1))
  expect(got.text).toBe(resultText(1))
  expect(got.headers['x-squall-fault']).toBeUndefined()
  expect(stage.notApplicable).toMatchObject([{ rule: 'slow', reason: 'nothing_to_act_on' }])
  expect(stage.counts().not_applicable).toBe(1)
})

it('passes the coded bytes of a JSON response that it only delays', async () => {
  const bytes = gzipSync(resultText(1))
  const stage = opened(
    await startSidecar({
      rules: [delay('response')],
      upstream: (req, res) => {
        req.resume()
        res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        res.end(bytes)
      },
    }),
  )
  const res = await post(stage, callMessage(1))
  const parts: Buffer[] = []
  for await (const part of res) parts.push(part as Buffer)
  expect(res.headers['content-encoding']).toBe('gzip')
  expect(Buffer.concat(parts).equals(bytes)).toBe(true)
})

it('reads a coded stream and sends it plain', async () => {
  const stage = opened(
    await startSidecar({
      rules: [delay('event', '5ms')],
      upstream: (req, res) => {
        req.resume()
        res.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
        res.end(gzipSync(streamText(1)))
      },
    }),
  )
  const got = await call(stage, callMessage(1))
  expect(got.headers['content-encoding']).toBeUndefined()
  expect(got.text).toContain(resultText(1))
})

it.each(['request', 'response', 'event'] as const)(
  'a client that leaves during a delay at %s frees everything at once',
  async (at) => {
    let appGone: Promise<unknown> | undefined
    const stage = opened(
      await startSidecar({
        rules: [delay(at, '10m')],
        upstream: (req, res) => {
          appGone = once(res, 'close')
          whenAsked(req, () => {
            res.setHeader('content-type', 'text/event-stream')
            res.write(streamText(1))
          })
        },
      }),
    )
    const client = await RawClient.connect(stage.port)
    await client.send(toolCall(1), 'POST')
    await stage.until(() => stage.injected.length === 1)
    expect(stage.active()).toBe(1)
    client.reset()
    await stage.settled()
    await appGone
    expect(appGone === undefined).toBe(at === 'request')
    expect(stage.active()).toBe(0)
    expect(stage.counts().injected).toBe(1)
    expect(await stage.origins()).toEqual(['injected'])
  },
)

it('a rule that is taken back frees its sleepers at once, and nothing is lost', async () => {
  const stage = opened(await startSidecar({ rules: [delay('event', '10m')], upstream: sseApp }))
  const res = await post(stage, callMessage(1))
  const text = textOf(res)
  await stage.until(() => stage.injected.length === 1)
  stage.disarm()
  const got = (await text).replace(WITHOUT_COMMENTS, '')
  expect(got).toBe(streamText(1))
  expect(stage.injected).toHaveLength(1)
  expect(stage.active()).toBe(0)
})

it('a rule that is taken back during a request delay sends the call on', async () => {
  const stage = opened(await startSidecar({ rules: [delay('request', '10m')], upstream: jsonApp }))
  const got = call(stage, callMessage(1))
  await stage.until(() => stage.injected.length === 1)
  stage.disarm()
  expect((await got).text).toBe(resultText(1))
})

it('a drain lets what waits pass untouched', async () => {
  const stage = opened(await startSidecar({ rules: [delay('request', '10m')], upstream: jsonApp }))
  const got = call(stage, callMessage(1))
  await stage.until(() => stage.injected.length === 1)
  void stage.drain()
  expect((await got).text).toBe(resultText(1))
})

it('the cap turns away what is too much, which passes untouched', async () => {
  const stage = opened(
    await startSidecar({
      rules: [delay('request', '10m')],
      file: { maxActive: 1 },
      upstream: jsonApp,
    }),
  )
  const first = call(stage, callMessage(1))
  await stage.until(() => stage.injected.length === 1)
  const second = await call(stage, callMessage(2))
  expect(second.text).toBe(resultText(2))
  expect(second.headers['x-squall-fault']).toBeUndefined()
  expect(stage.counts().concurrency_limit).toBe(1)
  stage.disarm()
  await first
})

it('a dry-run rule does nothing', async () => {
  const rule = delay('request', '10m', `${ECHO}\n    dryRun: true`)
  const stage = opened(await startSidecar({ rules: [rule], upstream: jsonApp }))
  const got = await call(stage, callMessage(1))
  expect(got.text).toBe(resultText(1))
  expect(stage.counts().dry_run).toBe(1)
  expect(stage.injected).toEqual([])
})

it('cannot delay the request of a rule about the status of its response', async () => {
  const keys = 'match: { http: { status: 2xx } }'
  const rules = [delay('request', `${MS}ms`, keys)]
  const stage = opened(await startSidecar({ rules, upstream: jsonApp }))
  expect((await call(stage, callMessage(1))).text).toBe(resultText(1))
  expect(stage.notApplicable).toMatchObject([{ fault: 'delay', reason: 'already_sent' }])
})
