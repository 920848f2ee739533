import { afterEach, expect, test } from 'vitest'
import { Held } from './held.ts'
import {
  event,
  get,
  json,
  LAST_CHUNK,
  POLL,
  post,
  request,
  result,
  Stage,
  streamHead,
} from './stage.ts'

const SLOW = 150
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, SLOW))

let stage: Stage
afterEach(() => stage.close())

const overhead = (part: string): Promise<number> => stage.sum('squall_overhead_seconds', part)

test('a slow app is not overhead', async () => {
  stage = await Stage.open(async (exchange) => {
    await pause()
    await exchange.write(streamHead())
    await pause()
    await exchange.write(event({ jsonrpc: '2.0', method: 'notifications/x' }))
    await pause()
    await exchange.send([event(result(1)), LAST_CHUNK])
  })
  await stage.exchange(post(request(1)))
  await stage.ends({ 'tools/call echo: ok': 1 })
  const took = await stage.sum('squall_call_duration_seconds', '_sum')
  expect(took).toBeGreaterThan((2.9 * SLOW) / 1000)
  // The smallest part of the waiting that could have slipped in is one pause.
  expect(await overhead('_sum')).toBeLessThan(SLOW / 1000)
  expect(await overhead('_sum')).toBeGreaterThan(0)
  expect(await overhead('_count')).toBe(1)
})

test('a slow client is not overhead', async () => {
  stage = await Stage.open((exchange) => void exchange.send([json(result(1))]))
  const [head, body] = post(request(1)).split('\r\n\r\n') as [string, string]
  const client = await stage.connect()
  await client.send(`${head}\r\n\r\n${body.slice(0, 5)}`, 'POST')
  await pause()
  await client.send(body.slice(5))
  await client.response()
  await stage.ends({ 'tools/call echo: ok': 1 })
  expect(await overhead('_sum')).toBeLessThan(SLOW / 1000)
})

test('every forwarded exchange is reported once, when it ends', async () => {
  const held = new Held()
  stage = await Stage.open((exchange) => held.push(exchange))
  const call = await stage.send(post(request(1)))
  const push = await stage.send(get(), 'GET')
  const page = await stage.send('GET / HTTP/1.1\r\nHost: pod\r\n\r\n', 'GET')
  const gone = await stage.send(post(request(2)))
  await held.at(3)
  expect(await overhead('_count')).toBe(0)
  gone.close()
  await expect.poll(() => overhead('_count'), POLL).toBe(1)
  for (const index of [0, 1, 2, 3]) {
    const exchange = await held.at(index)
    const { method, target } = exchange.request
    if (method === 'POST') await exchange.write(json(result(1)))
    else if (target === '/') exchange.reset()
    else await exchange.send([streamHead(), LAST_CHUNK])
  }
  await Promise.all([call.response(), push.response(), page.gone])
  await expect.poll(() => overhead('_count'), POLL).toBe(4)
})
