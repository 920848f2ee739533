import { afterEach, expect, test } from 'vitest'
import {
  chunk,
  OPEN_STREAM,
  RawClient,
  type RunningSidecar,
  startSidecar,
  STREAM_HEAD,
} from '../support/wire.ts'

const MIB = 1024 * 1024

let squall: RunningSidecar

afterEach(async () => {
  await squall.close()
})

/** A request that the fast path does not read: there are two spaces behind a colon. */
const STANDARD_STREAM = OPEN_STREAM.replace('Accept: ', 'Accept:  ')

test('small events that wait for slow clients arrive whole and in order', async () => {
  // More than the buffers on the way hold.
  const total = 16 * MIB
  const events: string[] = []
  for (let size = 0; size < total; size += events.at(-1)!.length) {
    events.push(`id: ${events.length}\ndata: ${'x'.repeat(events.length % 900)}\n\n`)
  }
  let written = 0
  squall = await startSidecar({
    upstream: {
      keepBytes: false,
      script: async (e) => {
        await e.write(STREAM_HEAD)
        for (let i = 0; i < events.length; i += 300) {
          const block = Buffer.concat(events.slice(i, i + 300).map((text) => chunk(text)))
          if (!(await e.write(block))) return
          written++
        }
        await e.write('0\r\n\r\n')
      },
    },
  })
  const clients: RawClient[] = []
  for (const request of [OPEN_STREAM, STANDARD_STREAM]) {
    const client = await RawClient.connect(squall.port, { keepBytes: false })
    clients.push(client)
    await client.send(request)
    await client.head()
    client.socket.pause()
  }
  for (let before = -1; before < written;) {
    before = written
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  expect(written).toBeLessThan((2 * events.length) / 300)
  const body = Buffer.from(events.join(''))
  for (const client of clients) {
    client.socket.resume()
    expect((await client.response())!.body.equals(body)).toBe(true)
    client.close()
  }
})
