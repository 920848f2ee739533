// part: slow
import { expect, test } from 'vitest'
import { RawClient, startSidecar, toolCall } from '../../support/wire.ts'

const TIMEOUT = 500
/** node:http adds a second to the time for idle connections. */
const PAUSE = TIMEOUT + 1_300

/** Keeps the process from reading, as a freeze of its container does. */
function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE)
}

test.each(['fast', 'standard'] as const)(
  'requests that arrive while the process stands still get their responses (%s)',
  async (engine) => {
    const squall = await startSidecar({
      upstream: (_req, res) => res.end('ok'),
      engine,
      headerTimeout: TIMEOUT,
      clientKeepalive: TIMEOUT,
    })
    const kept = await RawClient.connect(squall.port)
    await kept.send(toolCall(1), 'POST')
    expect((await kept.response())?.status).toBe(200)
    const fresh = await RawClient.connect(squall.port)
    const half = await RawClient.connect(squall.port)
    const [start, rest] = [toolCall(3).slice(0, 50), toolCall(3).slice(50)]
    await half.send(start, 'POST')
    const sent = [fresh.send(toolCall(2), 'POST'), half.send(rest), kept.send(toolCall(4), 'POST')]
    standStill()
    await Promise.all(sent)
    const given = [await fresh.response(), await half.response(), await kept.response(1)]
    expect(given.map((response) => response?.status)).toEqual([200, 200, 200])
    for (const client of [fresh, half, kept]) client.close()
    await squall.close()
  },
)

test('slow headers and idle connections end all the same', async () => {
  const squall = await startSidecar({
    upstream: (_req, res) => res.end('ok'),
    engine: 'standard',
    headerTimeout: TIMEOUT,
    clientKeepalive: TIMEOUT,
  })
  const slow = await RawClient.connect(squall.port)
  await slow.send('POST /mcp HTTP/1.1\r\nHo', 'POST')
  expect((await slow.response())?.status).toBe(408)
  const idle = await RawClient.connect(squall.port)
  await idle.send(toolCall(1), 'POST')
  await idle.response()
  expect(await idle.gone).toBe('fin')
  for (const client of [slow, idle]) client.close()
  await squall.close()
})
