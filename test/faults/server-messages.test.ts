import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { toolOf } from '../../src/mcp/call.ts'
import { call, callMessage, post, startSidecar } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { resultText } from './apps.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const PROGRESS = 'match: { direction: server, method: notifications/progress }'
const ELICIT = 'match: { direction: server, method: elicitation/create }'

const progress = (n: number): object => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: 1, progress: n },
})
const elicit = {
  jsonrpc: '2.0',
  id: 's1',
  method: 'elicitation/create',
  params: { message: 'go?' },
}
const event = (message: unknown, id = ''): string => `${id}data: ${JSON.stringify(message)}\n\n`
const result = `data: ${resultText(1)}\n\n`

interface Asked {
  readonly text: string
  readonly headers: IncomingMessage['headers']
}

/**
 * An upstream that responds to a call with these events, and notes everything else that it gets.
 */
function saying(events: readonly string[], asked: Asked[] = []): RequestListener {
  return (req: IncomingMessage, res: ServerResponse) => {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      const text = Buffer.concat(parts).toString()
      if (!text.includes('tools/call')) {
        asked.push({ text, headers: req.headers })
        res.writeHead(202).end()
        return
      }
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const each of events) res.write(each)
      res.end()
    })
  }
}

async function stageOf(fault: string, keys: string, events: readonly string[], asked?: Asked[]) {
  const upstream = saying(events, asked)
  return opened(await startSidecar({ rules: [oneFault(fault, keys)], upstream }))
}

/** The stream without the markers of faults. */
const plain = (text: string): string => text.replaceAll(/: x-squall-fault .*\n\n/g, '')

const [one, two] = [event(progress(1)), event(progress(2))]

it.each([
  ['stream: { drop: all }', result],
  ['hang: {}', result],
  ['stream: { duplicate: all }', one + one + two + two + result],
  ['amplify: { copies: 2 }', one.repeat(3) + two.repeat(3) + result],
  ['delay: { fixed: 1ms, at: response }', undefined],
  [
    'rewrite: { in: message, set: { /params/progress: 7 } }',
    event(progress(7)) + event(progress(7)) + result,
  ],
])('%s acts on notifications of the server', async (fault, text) => {
  const stage = await stageOf(fault, PROGRESS, [one, two, result])
  const got = plain((await call(stage, callMessage(1))).text)
  if (text !== undefined) expect(got).toBe(text)
  else expect(got.split('\n\n').sort()).toEqual((one + two + result).split('\n\n').sort())
  expect(stage.counts()).toMatchObject({ matched: 2, injected: 2, not_applicable: 0 })
  await stage.settled(1)
  expect(await stage.origins()).toEqual(['real'])
})

it('a notification that hangs holds nothing', async () => {
  const events = Array.from({ length: 20 }, (_, n) => event(progress(n)))
  const stage = opened(
    await startSidecar({
      rules: [oneFault('hang: {}', PROGRESS)],
      file: { maxActive: 1 },
      upstream: (req, res) => {
        req.resume()
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        res.write(events.join(''))
      },
    }),
  )
  const res = await post(stage, callMessage(1))
  await eventually(() => (stage.counts().matched === 20 ? undefined : 'not all yet'))
  expect(stage.counts()).toMatchObject({ injected: 20, concurrency_limit: 0 })
  expect(stage.active()).toBe(0)
  res.destroy()
})

it('lets later events overtake a delayed notification, and nothing is lost', async () => {
  const stage = await stageOf('delay: { fixed: 50ms }', `first: 1\n    ${PROGRESS}`, [
    event(progress(1), 'id: a\n'),
    event(progress(2), 'id: b\n'),
    result,
  ])
  const got = plain((await call(stage, callMessage(1))).text)
  // The id of the late one would take a client that resumes back to before what it has seen.
  expect(got).toBe(event(progress(2), 'id: b\n') + result + event(progress(1)))
})

it('keeps the order of events where a fault does not wait', async () => {
  const events = Array.from({ length: 200 }, (_, n) => event(progress(n)))
  const fault = 'rewrite: { in: message, add: { /params/message: hi } }'
  const stage = await stageOf(fault, PROGRESS, [...events, result])
  const got = plain((await call(stage, callMessage(1))).text)
  const seen = [...got.matchAll(/"progress":(\d+)/g)].map(([, n]) => Number(n))
  expect(seen).toEqual(Array.from({ length: 200 }, (_, n) => n))
})

const logged = { jsonrpc: '2.0', method: 'notifications/message', params: { data: 'a\nb' } }

it.each([
  ['stream: { drop: all }', [], ''],
  ['stream: { drop: all }', [logged], event([logged])],
  [
    'stream: { duplicate: all }',
    [logged],
    one + one + event([logged]) + event(progress(2), 'id: b\n').repeat(2),
  ],
  [
    'rewrite: { in: message, set: { /params/progress: 7 } }',
    [],
    event(progress(7)) + event(progress(7), 'id: b\n'),
  ],
])('%s acts on notifications of a batch beside %j', async (fault, beside, text) => {
  const batch = event([progress(1), ...beside, progress(2)], 'id: b\n')
  const stage = await stageOf(fault, PROGRESS, [batch, result])
  expect(plain((await call(stage, callMessage(1))).text)).toBe(text + result)
  expect(stage.counts()).toMatchObject({ matched: 2, injected: 2, not_applicable: 0 })
})

it('leaves a batch as it is when no rule matches its messages', async () => {
  const batch = 'data: [ {"jsonrpc":"2.0",\ndata: "method":"notifications/message"} ]\n\n'
  const stage = await stageOf('stream: { drop: all }', PROGRESS, [batch, result])
  expect((await call(stage, callMessage(1))).text).toBe(batch + result)
})

it('answers a request of a batch in place of the client', async () => {
  const asked: Asked[] = []
  const fault = 'abort: { rpcError: { code: -32000, message: declined } }'
  const stage = await stageOf(fault, ELICIT, [event([elicit, logged]), result], asked)
  const got = await call(stage, callMessage(1))
  expect(plain(got.text)).toBe(event([logged]) + result)
  await eventually(() => (asked.length === 1 ? undefined : `${asked.length} posts`))
  expect(JSON.parse(asked[0]!.text)).toMatchObject({ id: 's1', error: { message: 'declined' } })
})

it.each([
  ['abort: { rpcError: { code: -32000, message: declined } }'],
  ['abort: { rpcError: { code: -32000, message: declined }, at: response }'],
])('%s answers a request of the server in place of the client', async (fault) => {
  const asked: Asked[] = []
  const stage = await stageOf(fault, ELICIT, [event(elicit), result], asked)
  const headers = { 'mcp-session-id': 's', authorization: 'Bearer x' }
  const got = await call({ ...stage, headers }, callMessage(1))
  expect(plain(got.text)).toBe(result)
  await eventually(() => (asked.length === 1 ? undefined : `${asked.length} posts`))
  const error = { code: -32000, message: 'declined' }
  expect(JSON.parse(asked[0]!.text)).toEqual({ jsonrpc: '2.0', id: 's1', error })
  expect(asked[0]!.headers).toMatchObject(headers)
  expect(stage.counts()).toMatchObject({ matched: 1, injected: 1 })
})

it.each(
  ['elicitation/create', 'sampling/createMessage'].flatMap((method) => [
    ['abort: { status: 503 }', method, 503] as const,
    ['rateLimit: { retryAfter: 1s }', method, 429] as const,
    ['unauthorized: {}', method, 401] as const,
  ]),
)('%s rejects the response of a client to %s, which the upstream never gets', async (...row) => {
  const [fault, method, status] = row
  const asked: Asked[] = []
  const events = [event({ ...elicit, method }), result]
  const stage = await stageOf(fault, `match: { method: ${method} }`, events, asked)
  const place = { ...stage, headers: { 'mcp-session-id': 's' } }
  expect((await call(place, callMessage(1))).text).toBe(events.join(''))
  const response = { jsonrpc: '2.0', id: 's1', result: {} }
  expect((await call(place, response)).status).toBe(status)
  // A response to no request of the upstream passes, after all that was rejected.
  const other = { ...response, id: 's2' }
  expect((await call(place, other)).status).toBe(202)
  expect(asked.map(({ text }): unknown => JSON.parse(text))).toEqual([other])
  expect(stage.counts()).toMatchObject({ matched: 1, injected: 1, not_applicable: 0 })
})

it.each([
  ['abort: { status: 503 }', ELICIT],
  ['abort: { rpcError: { code: 1, message: x } }', PROGRESS],
  ['throttle: { rate: 1KiB }', PROGRESS],
])('%s has nothing to act on at %s', async (fault, keys) => {
  const events = [keys === ELICIT ? event(elicit) : one, result]
  const stage = await stageOf(fault, keys, events)
  expect((await call(stage, callMessage(1))).text).toBe(events.join(''))
  expect(stage.counts()).toMatchObject({ matched: 1, injected: 0, not_applicable: 1 })
})

it('resets the stream at a message', async () => {
  const stage = await stageOf('reset: {}', `after: 1\n    ${PROGRESS}`, [one, two, result])
  const res = await post(stage, callMessage(1))
  let text = ''
  await expect(async () => {
    for await (const part of res) text += String(part)
  }).rejects.toThrow()
  expect(text).not.toContain('"result"')
  await stage.settled(1)
  expect(await stage.origins()).toEqual(['injected'])
})

it('matches the tool of the call to which a message belongs', async () => {
  const keys = 'match: { direction: server, method: "*", tool: other }'
  const stage = await stageOf('stream: { drop: all }', keys, [one, result])
  expect((await call(stage, callMessage(1))).text).toBe(one + result)
  expect(plain((await call(stage, callMessage(1, 'other'))).text)).toBe(result)
  expect(stage.injected.map((each) => toolOf(each.call))).toEqual(['other'])
})

it('rules about calls leave messages of the server alone', async () => {
  const stage = await stageOf('stream: { drop: all }', 'match: { method: "*" }', [one, result])
  expect((await call(stage, callMessage(1))).text).not.toContain('progress')
  const other = await stageOf('stream: { drop: 1 }', 'match: { method: notifications/progress }', [
    one,
    result,
  ])
  expect((await call(other, callMessage(1))).text).toBe(one + result)
})

it('holds a bounded number of messages, and passes the others', async () => {
  const events = Array.from({ length: 1_500 }, (_, n) => event(progress(n)))
  const stage = await stageOf('delay: { fixed: 10m }', PROGRESS, [...events, result])
  const res = await post(stage, callMessage(1))
  let text = ''
  res.on('data', (part) => (text += String(part)))
  await eventually(() => (text.includes('"result"') ? undefined : 'no result yet'))
  expect(text.split('"progress":')).toHaveLength(500 + 1)
  expect(stage.counts()).toMatchObject({ injected: 1_000, not_applicable: 500 })
  stage.faults.take([])
  await eventually(() => (text.split('"progress":').length === 1_501 ? undefined : 'not all yet'))
})

it.each([
  ['no JSON', 'data: {"jsonrpc":\n\n'],
  ['no JSON-RPC', 'data: {"method":"notifications/progress"}\n\n'],
  ['an id that is no id', 'data: {"jsonrpc":"2.0","id":{},"method":"elicitation/create"}\n\n'],
  ['another event', `event: endpoint\n${event(progress(1))}`],
  ['a comment', ': {"jsonrpc":"2.0","method":"notifications/progress"}\n\n'],
])('%s is no message of the server', async (_, bytes) => {
  const keys = 'match: { direction: server, method: "*" }'
  const stage = await stageOf('stream: { drop: all }', keys, [bytes, result])
  expect((await call(stage, callMessage(1))).text).toBe(bytes + result)
  expect(stage.counts()).toMatchObject({ matched: 0 })
})
