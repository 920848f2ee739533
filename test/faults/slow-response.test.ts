import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { RawClient, startSidecar, toolCall } from '../support/wire.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const RULE = oneFault('abort: { toolError: injected, at: response }')

/**
 * A fault that needs the whole response holds what has come of it. An upstream that sends a byte
 * now and then made it hold a buffer without end, and a client wait that would have seen the bytes
 * come.
 */
test('a response that trickles is not held for a fault beyond --hold-timeout', async () => {
  const state = { seen: false }
  const squall = opened(
    await startSidecar({
      rules: [RULE],
      holdTimeout: 200,
      upstream: {
        script: async (each) => {
          await each.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n')
          while (!state.seen && (await each.write('1\r\n \r\n'))) {
            await new Promise((resolve) => setTimeout(resolve, 20))
          }
          await each.write('1\r\n}\r\n0\r\n\r\n')
        },
      },
    }),
  )
  const client = opened(await RawClient.connect(squall.port))
  await client.send(toolCall(1), 'POST')
  expect((await client.head())?.status).toBe(200)
  state.seen = true
  const given = await client.response()
  expect(given?.body.toString()).toMatch(/^\{ +\}$/)
  expect(squall.faults!.injected).toEqual([])
})

test('a response that comes at a fair pace is held for longer', async () => {
  const part = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"${'x'.repeat(4096)}`
  const squall = opened(
    await startSidecar({
      rules: [RULE],
      holdTimeout: 100,
      upstream: {
        script: async (each) => {
          await each.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n')
          await each.write(`Content-Length: ${part.length + 10}\r\n\r\n${part}`)
          await new Promise((resolve) => setTimeout(resolve, 400))
          await each.write('yyyyy"}]}}')
        },
      },
    }),
  )
  const client = opened(await RawClient.connect(squall.port))
  await client.send(toolCall(1), 'POST')
  expect((await client.response())?.body.toString()).toContain('injected')
})

test.each([
  ['a body', 'application/json', '{"jsonrpc":'],
  ['the head of a stream', 'text/event-stream', ''],
])('%s that nothing follows is not held beyond --hold-timeout', async (_what, type, start) => {
  const chunk = start === '' ? '' : `${start.length.toString(16)}\r\n${start}\r\n`
  const squall = opened(
    await startSidecar({
      rules: [RULE],
      holdTimeout: 200,
      upstream: {
        script: async (each) => {
          await each.write(
            `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`,
          )
        },
      },
    }),
  )
  const client = opened(await RawClient.connect(squall.port))
  await client.send(toolCall(1), 'POST')
  expect((await client.head())?.status).toBe(200)
  expect(squall.faults!.injected).toEqual([])
})
