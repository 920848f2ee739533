import { afterEach, expect, test } from 'vitest'
import {
  chunk,
  RawClient,
  response,
  type RunningSidecar,
  startSidecar,
  STREAM_HEAD,
  toolCall,
} from '../support/wire.ts'

const EVENT = `data: ${'x'.repeat(1000)}\n\n`
/** More than the buffers on the way hold. */
const EVENTS = 16 * 1024

let squall: RunningSidecar

afterEach(async () => {
  await squall.close()
})

test('a response that waits for its client continues when one behind it comes meanwhile', async () => {
  let goOn!: () => void
  const isTime = new Promise<void>((resolve) => (goOn = resolve))
  let written = 0
  squall = await startSidecar({
    upstream: {
      keepBytes: false,
      script: async (e) => {
        if (String(e.request.body).includes('"second"')) {
          await isTime
          await e.write(response('200 OK', ['Content-Type', 'text/plain'], 'later'))
          return
        }
        await e.write(STREAM_HEAD)
        const block = Buffer.concat(Array.from({ length: 64 }, () => chunk(EVENT)))
        for (; written < EVENTS; written += 64) if (!(await e.write(block))) return
        await e.write('0\r\n\r\n')
      },
    },
    // Requests that wait here belong to node:http.
    engine: 'standard',
  })
  const client = await RawClient.connect(squall.port, { keepBytes: false })
  await client.send(toolCall(1, 'first') + toolCall(2, 'second'))
  await client.head()
  client.socket.pause()
  for (let before = -1; before < written;) {
    before = written
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  expect(written).toBeLessThan(EVENTS)
  goOn()
  // Enough rounds of the event loop for it to arrive.
  for (let turns = 0; turns < 40; turns++) await new Promise(setImmediate)
  client.socket.resume()
  expect((await client.response())!.body.equals(Buffer.from(EVENT.repeat(EVENTS)))).toBe(true)
  expect(String((await client.response(1))!.body)).toBe('later')
  client.close()
})
