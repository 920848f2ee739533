import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { defaultMemoryBudget, MemoryBudget } from '../../src/listener/memory-budget.ts'
import { RareLog } from '../../src/listener/rare-log.ts'
import { StdioPort } from '../../src/listener/stdio/stdio-port.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { SETTINGS } from '../engines/limits.ts'
import { closers } from '../support/closers.ts'
import { call, callMessage, RawClient, startSidecar, toolCall } from '../support/wire.ts'
import { startSquall } from '../support/commands.ts'
import { ruleStage } from '../support/wire/rules.ts'
import { whenAsked } from './apps.ts'
import { oneFault } from './one-fault.ts'
import { bodyApp, responseText, streamApp, streamOf } from './responding-app.ts'
import { stepsOf } from './thread-cpu.ts'

const opened = closers()
const TASKS = {
  by: ['session', 'client'],
  header: 'x',
  meta: undefined,
  window: 1000,
  maxRetries: 3,
} as const
const NUMBER = 'falsify: { number: {}, at: /price }'
/** Written as no serializer would write it, so that every other byte is seen to stay. */
const RESULT = `{"content" :[{"type":"text","text":"{ \\"price\\" :4187.23,\\"n\\":1e2}"},{"type":"text","text":"Costs €4,187.23\\u0021"}],"structuredContent":{"price": 4187.23, "n" :1e2}}`

/** Returns the result with another price in all its copies. */
function priced(price: string): string {
  const grouped = `${price.slice(0, 1)},${price.slice(1)}`
  return RESULT.replaceAll('4187.23', price).replace('4,187.23', grouped)
}

function priceIn(text: string): string {
  return /"structuredContent":\{"price": ([\d.]+)/.exec(text)![1]!
}

it('changes all copies of one value in a JSON response, and no other byte', async () => {
  const stage = opened(await startSidecar({ rules: [oneFault(NUMBER)], upstream: bodyApp(RESULT) }))
  const got = await call(stage, callMessage(1))
  const price = priceIn(got.text)
  expect(price).toMatch(/^(?:39|43|44)\d\d\.\d[1-9]$/)
  expect(got.text).toBe(responseText(priced(price)))
  expect(got.headers['x-squall-fault']).toBe('bad/falsify')
  expect(stage.injected).toMatchObject([{ effect: 'number' }])
  const other = await call(stage, callMessage(2, 'other'))
  expect(other.text).toBe(responseText(RESULT, 2))
  expect(stage.counts()).toMatchObject({ injected: 1 })
})

it('changes the event with the response, and no other one', async () => {
  const stage = opened(
    await startSidecar({ rules: [oneFault(NUMBER)], upstream: streamApp(RESULT) }),
  )
  const got = await call(stage, callMessage(1))
  const price = priceIn(got.text)
  expect(price).not.toBe('4187.23')
  const marker = ': x-squall-fault bad/falsify\n\n'
  expect(got.text).toContain(marker)
  expect(got.text.replace(marker, '')).toBe(streamOf(priced(price)))
})

it('changes the results of a batch message by message', async () => {
  const stage = opened(await startSidecar({ rules: [oneFault(NUMBER)], upstream: bodyApp(RESULT) }))
  const asked = [1, 2, 3].map((id) => ({
    ...callMessage(id, id === 2 ? 'other' : 'echo'),
    params: { name: id === 2 ? 'other' : 'echo', arguments: { id } },
  }))
  const got = await call(stage, asked)
  const results = (
    JSON.parse(got.text) as { result: { structuredContent: { price: number } } }[]
  ).map(({ result }) => result.structuredContent.price)
  expect(results[1]).toBe(4187.23)
  expect([results[0], results[2]]).not.toContain(4187.23)
})

it('changes a line of stdio', async () => {
  const stage = ruleStage([oneFault(NUMBER)])
  const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const line = responseText(RESULT)
  const script = `process.stdin.once('data', () => process.stdout.write(${JSON.stringify(`${line}\n`)}))`
  const logger = { debug: ignore, info: ignore, warn: ignore, error: console.error }
  const port = new StdioPort(
    { ...SETTINGS, server: { command: process.execPath, args: ['-e', script] } },
    {
      telemetry: new Metrics({ version: '0.0.0-test' }),
      logger,
      rareLog: new RareLog(logger, () => performance.now()),
      faults: stage,
      memory: new MemoryBudget(defaultMemoryBudget()),
    },
    { input, output, errors },
  )
  await port.start()
  const carried = port.carry()
  input.end(`${JSON.stringify(callMessage(1))}\n`)
  await carried
  const text = String(output.read())
  expect(priceIn(text)).not.toBe('4187.23')
  expect(text).toBe(`${responseText(priced(priceIn(text)))}\n`)
  expect(stage.counts().injected).toBe(1)
})

it('gives the same false value for the same seed', async () => {
  const prices = []
  for (let i = 0; i < 2; i++) {
    const stage = opened(
      await startSidecar({ rules: [oneFault(NUMBER)], upstream: bodyApp(RESULT) }),
    )
    prices.push(priceIn((await call(stage, callMessage(1))).text))
  }
  expect(prices[1]).toBe(prices[0])
})

it('tells the truth when a task looks again, and falsifies the same call of another task', async () => {
  const stage = opened(
    await startSidecar({
      rules: [oneFault(NUMBER)],
      upstream: bodyApp(RESULT),
      tasks: TASKS,
    }),
  )
  const ask = async (session: string, id: number, city: string): Promise<boolean> => {
    const place = { ...stage, headers: { 'mcp-session-id': session } }
    const message = { ...callMessage(id), params: { name: 'echo', arguments: { city } } }
    return priceIn((await call(place, message)).text) === '4187.23'
  }
  expect(await ask('a', 1, 'Bern')).toBe(false)
  expect(await ask('a', 2, 'Bern')).toBe(true)
  expect(await ask('a', 3, 'Bern')).toBe(true)
  expect(await ask('a', 4, 'Zug')).toBe(false)
  expect(await ask('b', 5, 'Bern')).toBe(false)
  expect(stage.counts()).toMatchObject({ injected: 3, within_limit: 2 })
})

/** An upstream whose tool `echo` says how its structured content looks. */
const listing: RequestListener = (req, res) => {
  whenAsked(req, ([message]) => {
    const outputSchema = { type: 'object', properties: { status: { enum: ['open', 'paid'] } } }
    const tools = [{ name: 'echo', inputSchema: { type: 'object' }, outputSchema }]
    const result =
      message!.method === 'tools/list'
        ? { tools }
        : { content: [], structuredContent: { status: 'open' } }
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify({ jsonrpc: '2.0', id: message!.id, result }))
  })
}

it('replaces a text by another one that the listed schema allows', async () => {
  const rules = [oneFault('falsify: { enum: {} }')]
  const stage = opened(await startSidecar({ rules, upstream: listing, tasks: TASKS }))
  const before = await call(stage, callMessage(1))
  expect(before.text).toContain('"open"')
  expect(stage.notApplicable).toMatchObject([{ reason: 'no_plausible_change' }])
  await call(stage, { jsonrpc: '2.0', id: 2, method: 'tools/list' })
  const after = await call(stage, callMessage(3))
  expect(after.text).toContain('"status":"paid"')
})

it('gives nobody an id that another caller got', async () => {
  let n = 10_000
  const upstream: RequestListener = (req, res) =>
    bodyApp(`{"structuredContent":{"id":"INV-${++n}"},"content":[]}`)(req, res)
  const rules = [oneFault('falsify: { id: {} }')]
  const stage = opened(await startSidecar({ rules, upstream }))
  const ask = async (token: string, city: string): Promise<string> => {
    const place = { ...stage, headers: { authorization: `Bearer ${token}` } }
    const message = { ...callMessage(1), params: { name: 'echo', arguments: { city } } }
    return /INV-\d+/.exec((await call(place, message)).text)![0]
  }
  expect(await ask('a', 'Bern')).toBe('INV-10001')
  expect(await ask('b', 'Bern')).toBe('INV-10002')
  expect(await ask('a', 'Zug')).toBe('INV-10001')
})

it('says nothing of results in logs and metrics', async () => {
  const rules = `rules:\n  - { name: bad, faults: [{ falsify: { number: {} } }] }\n`
  const secret = '{"structuredContent":{"balance-hunter2":4187.23}}'
  const { squall } = opened(await startSquall({ rules, upstream: bodyApp(secret) }))
  const got = await call({ port: squall.port, host: '127.0.0.1' }, callMessage(1))
  const price = /hunter2":([\d.]+)/.exec(got.text)![1]!
  expect(price).not.toBe('4187.23')
  expect(await squall.metric('squall_faults_injected_total', { fault: 'falsify' })).toBe(1)
  for (const word of ['hunter2', '4187', price])
    expect(JSON.stringify(squall.logs)).not.toContain(word)
})

it('remembers nothing of a response whose client left before it was there', async () => {
  let appGone: Promise<unknown> | undefined
  const responses = bodyApp(RESULT)
  const upstream: RequestListener = (req, res) => {
    if (appGone !== undefined) return responses(req, res)
    req.resume()
    appGone = once(res, 'close')
    return undefined
  }
  const stage = opened(await startSidecar({ rules: [oneFault(NUMBER)], session: 's', upstream }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await expect.poll(() => appGone !== undefined).toBe(true)
  client.reset()
  await stage.settled()
  await appGone
  expect(priceIn((await call(stage, callMessage(2))).text)).not.toBe('4187.23')
  expect(stage.counts()).toMatchObject({ injected: 1, not_reached: 1 })
})

function ignore(): void {
  // Only errors matter here.
}

it('serves other events while it searches a long text for a number', async () => {
  const text = JSON.stringify('12345678 '.repeat(400_000))
  const result = `{"content":[{"type":"text","text":${text}}]}`
  const stage = opened(
    await startSidecar({ rules: [oneFault('falsify: { number: {} }')], upstream: bodyApp(result) }),
  )
  const got = call(stage, callMessage(1))
  // Milliseconds of CPU, which other load does not lengthen. A search for all copies took 1.4 s.
  expect((await stepsOf(got)).most).toBeLessThan(500)
  expect((await got).text).toBe(responseText(result))
  expect(stage.notApplicable).toMatchObject([{ reason: 'no_plausible_change' }])
})
