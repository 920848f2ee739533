// part: slow
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { RawClient, startSidecar, toolCall } from '../support/wire.ts'

const opened = closers()

test('heads that never end are cut off while good clients go on', async () => {
  const squall = opened(await startSidecar({ headerTimeout: 3_000, upstream: {} }))
  const slow = await Promise.all(Array.from({ length: 20 }, () => RawClient.connect(squall.port)))
  for (const client of slow) await client.send('GET / HTTP/1.1\r\nHost: pod\r\nX-A: b')
  const drip = setInterval(() => {
    for (const client of slow) void client.send('c')
  }, 50)
  let good = 0
  while (slow.some((client) => client.closeState === undefined)) {
    const client = await RawClient.connect(squall.port)
    await client.send(toolCall(good), 'POST')
    expect((await client.response())?.status).toBe(200)
    good++
    client.close()
    await sleep(20)
  }
  clearInterval(drip)
  expect(good).toBeGreaterThan(0)
  for (const client of slow) {
    expect(
      client.responses.map((given) => given.status).filter((status) => status !== 408),
    ).toEqual([])
    client.close()
  }
  expect(squall.app.requests).toHaveLength(good)
})
