import { afterEach, expect, it, vi } from 'vitest'
import { closers } from '../support/closers.ts'
import {
  type AppExchange,
  chunk,
  exchange,
  response,
  rpcPost,
  startSidecar,
  STREAM_HEAD,
  toolCall,
} from '../support/wire.ts'
import { resultText } from './apps.ts'
import { oneFault } from './one-fault.ts'

// A response that a fault acted on was parsed a second time by its observer, an edited call three times.

const opened = closers()
afterEach(() => vi.restoreAllMocks())

const PROGRESS = {
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: 1, progress: 1 },
}
const event = (text: string): Buffer => chunk(`event: message\ndata: ${text}\n\n`)
const bodies = {
  JSON: response('200 OK', ['Content-Type: application/json'], resultText(1)),
  SSE: Buffer.concat([
    Buffer.from(STREAM_HEAD),
    event(JSON.stringify(PROGRESS)),
    event(resultText(1)),
    chunk(''),
  ]),
}

/** Returns the texts of messages that were parsed during an exchange, in order. */
async function parsedDuring(fault: string | undefined, keys: string, bytes: Buffer, post: string) {
  const script = (each: AppExchange) => void each.write(bytes)
  const rules = fault === undefined ? [] : [oneFault(fault, keys)]
  const squall = opened(await startSidecar({ rules, upstream: { script } }))
  const parse = vi.spyOn(JSON, 'parse')
  const { response: got } = await exchange(squall.port, post, 'POST')
  expect(got?.status).toBe(200)
  await expect.poll(() => squall.metrics()).toMatch(/squall_(calls|http_requests)_total\{[^}]*\} 1/)
  const texts = parse.mock.calls.map(([text]) => text)
  parse.mockRestore()
  return { injected: squall.faults!.injected, texts: texts.filter((text) => /jsonrpc/.test(text)) }
}

const ECHO = 'match: { tool: echo }'
const POSTED = 'match: { method: notifications/progress }'
const SERVER = 'match: { direction: server, method: notifications/progress }'

const cases: readonly (readonly [string, string, string])[] = [
  ['delay: { fixed: 1ms }', ECHO, toolCall(1)],
  ['delay: { fixed: 1ms, at: response }', ECHO, toolCall(1)],
  ['truncate: { content: { percent: 50 } }', ECHO, toolCall(1)],
  ['rewrite: { in: message, set: { /result/n: 7 } }', ECHO, toolCall(1)],
  ['rewrite: { in: arguments, set: { /message: other } }', ECHO, toolCall(1)],
  ['amplify: { copies: 1 }', ECHO, toolCall(1)],
  ['inflate: { to: 2KiB }', ECHO, toolCall(1)],
  ['poison: { preset: instructions }', ECHO, toolCall(1)],
  ['throttle: { rate: 100KiB }', ECHO, toolCall(1)],
  ['delay: { fixed: 1ms }', POSTED, rpcPost(JSON.stringify(PROGRESS))],
  ['stream: { duplicate: all }', POSTED, rpcPost(JSON.stringify(PROGRESS))],
]
const both = cases.flatMap(([fault, keys, post]) =>
  (['JSON', 'SSE'] as const).map((kind) => [fault, keys, kind, post] as const),
)

it.each([
  ...both,
  ['stream: { duplicate: all }', ECHO, 'SSE', toolCall(1)] as const,
  ['delay: { fixed: 1ms }', SERVER, 'SSE', toolCall(1)] as const,
  ['stream: { duplicate: all }', SERVER, 'SSE', toolCall(1)] as const,
])('%s with %s parses no text of a %s exchange twice', async (fault, keys, kind, post) => {
  const { texts, injected } = await parsedDuring(fault, keys, bodies[kind], post)
  expect(injected).not.toEqual([])
  expect(texts).not.toEqual([])
  expect(texts).toEqual([...new Set(texts)])
})

it.each(['JSON', 'SSE'] as const)(
  'a call without faults and its %s response are parsed once each',
  async (kind) => {
    const { texts } = await parsedDuring(undefined, ECHO, bodies[kind], toolCall(1))
    expect(texts).toEqual([expect.stringContaining('tools/call'), resultText(1)])
  },
)
