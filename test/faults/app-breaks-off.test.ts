import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { event, post, request, result, Stage, streamHead } from '../accounting/stage.ts'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'

let stage: Stage
afterEach(() => stage.close())

const HELD: RuleSpec = {
  name: 'r',
  match: { tool: 'echo' },
  faults: [{ fault: 'abort', config: { toolError: 'injected', at: 'response' } }],
}
const SLOW: RuleSpec = {
  name: 'r',
  match: { tool: 'echo' },
  faults: [{ fault: 'delay', config: { fixed: 60_000, max: 60_000, at: 'event' } }],
}

test('half a body that a fault waits for goes out when the upstream breaks off', async () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n'
  stage = await Stage.open(
    async (exchange) => {
      await exchange.send([`${head}{"half"`])
      await sleep(20)
      exchange.fin()
    },
    { rules: [HELD] },
  )
  const client = await stage.exchange(post(request(1)))
  expect(client.responses[0]).toMatchObject({ status: 200, complete: false })
  expect(client.responses[0]!.body.toString()).toBe('{"half"')
  await stage.ends({ 'tools/call echo: incomplete': 1 })
  expect(stage.squall.faults!.injected).toEqual([])
})

test('events that a fault holds go out when the upstream breaks off', async () => {
  stage = await Stage.open(
    async (exchange) => {
      await exchange.send([streamHead(), event(result(1)), '7\r\n: half'])
      await sleep(20)
      exchange.fin()
    },
    { rules: [SLOW] },
  )
  const client = await stage.exchange(post(request(1)))
  expect(client.responses[0]).toMatchObject({ status: 200, complete: false })
  expect(client.text).toContain('"id":1')
  await stage.ends({ 'tools/call echo: ok': 1 })
})

test('a batch of one is changed as a call alone, and stays a batch', async () => {
  const responded = JSON.stringify([
    { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'abcdef' }] } },
  ])
  stage = await Stage.open(
    (exchange) =>
      void exchange.send([
        `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${responded.length}\r\n\r\n${responded}`,
      ]),
    {
      rules: [
        {
          name: 'r',
          match: { tool: 'echo' },
          faults: [{ fault: 'truncate', config: { content: { chars: 3 }, framing: 'broken' } }],
        },
      ],
    },
  )
  const client = await stage.exchange(post([request(1)]))
  expect(client.responses[0]!.body.toString()).toBe(responded.replace('abcdef', 'abc'))
  await stage.ends({ 'tools/call echo: ok': 1 })
})

test('an error of the upstream stays its own when its body is damaged', async () => {
  stage = await Stage.open(
    (exchange) => void exchange.send(['HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops']),
    {
      rules: [
        {
          name: 'r',
          match: { tool: 'echo' },
          faults: [{ fault: 'corrupt', config: { mode: 'html' } }],
        },
      ],
    },
  )
  const client = await stage.exchange(post(request(1)))
  expect(client.text).toContain('x-squall-fault: r/corrupt')
  await stage.ends({ 'tools/call echo: http_error': 1 })
})
