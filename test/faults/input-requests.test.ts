import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { call, post, startSidecar, textOf } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { whenAsked } from './apps.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const ELICIT = 'match: { direction: server, method: elicitation/create, tool: book }'
const TOOL = 'match: { tool: book }'
const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
const HEADERS = {
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'book',
}
const message = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'book', arguments: {}, _meta: META },
}
const asking = {
  jsonrpc: '2.0',
  id: 1,
  result: {
    resultType: 'input_required',
    inputRequests: { q: { method: 'elicitation/create', params: { message: 'go?' } } },
    requestState: 'opaque',
  },
}

/** An upstream whose tool requests input from its client. */
function askingApp(streams: boolean): RequestListener {
  return (req, res) => {
    whenAsked(req, () => {
      const text = JSON.stringify(asking)
      res.setHeader('content-type', streams ? 'text/event-stream' : 'application/json')
      res.end(streams ? `data: ${text}\n\n` : text)
    })
  }
}

async function stageOf(fault: string, streams: boolean, keys = ELICIT) {
  const upstream = askingApp(streams)
  const stage = opened(await startSidecar({ rules: [oneFault(fault, keys)], upstream }))
  return { ...stage, headers: HEADERS, stage }
}

/** The message in a response by JSON or by a stream. */
const messageIn = (text: string): unknown => JSON.parse(/\{.*\}/.exec(text)![0])

const ERROR = { jsonrpc: '2.0', id: 1, error: { code: -1, message: 'no' } }

it.each([
  ['JSON', false],
  ['a stream', true],
])('a request for input in %s is answered with an error', async (_, streams) => {
  for (const at of ['request', 'response']) {
    const place = await stageOf(
      `abort: { rpcError: { code: -1, message: no }, at: ${at} }`,
      streams,
    )
    expect(messageIn((await call(place, message)).text)).toEqual(ERROR)
    expect(place.stage.counts()).toMatchObject({ matched: 1, injected: 1 })
    await place.stage.settled(1)
    expect(await place.stage.counted()).toEqual({ 'book injected': 1 })
  }
})

it.each([
  ['JSON', false],
  ['a stream', true],
])('a request for input in %s is changed and delayed', async (_, streams) => {
  const set = '/result/inputRequests/q/params/message: really?'
  const place = await stageOf(`rewrite: { in: message, set: { ${set} } }`, streams)
  const got = messageIn((await call(place, message)).text)
  expect(JSON.stringify(got)).toBe(JSON.stringify(asking).replace('go?', 'really?'))
  const late = await stageOf('delay: { fixed: 1ms }', streams)
  expect(messageIn((await call(late, message)).text)).toEqual(asking)
  expect(late.stage.counts()).toMatchObject({ injected: 1 })
})

it.each([
  ['JSON', false],
  ['a stream', true],
])('a request for input in %s is held until the rule is taken back', async (_, streams) => {
  const place = await stageOf('hang: {}', streams)
  const response = post(place, message).then(textOf)
  await eventually(() => (place.stage.counts().injected === 1 ? undefined : 'not yet'))
  place.stage.faults.take([])
  expect(messageIn(await response)).toEqual(asking)
})

it.each([
  ['JSON', false],
  ['a stream', true],
])(
  'the rules of the call act on a request for input in %s behind those about it',
  async (_, streams) => {
    const set = '/result/inputRequests/q/params/message: really?'
    const server = oneFault(`rewrite: { in: message, set: { ${set} } }`, ELICIT)
    const own = oneFault('rewrite: { in: message, set: { /result/requestState: lost } }', TOOL)
    const upstream = askingApp(streams)
    const rules = [{ ...server, name: 'server' }, own]
    const stage = opened(await startSidecar({ rules, upstream }))
    const got = messageIn((await call({ ...stage, headers: HEADERS }, message)).text)
    const both = JSON.stringify(asking).replace('go?', 'really?').replace('opaque', 'lost')
    expect(JSON.stringify(got)).toBe(both)
    expect([0, 1].map((index) => stage.counts(index).injected)).toEqual([1, 1])
    await stage.settled(1)
    expect(await stage.counted()).toEqual({ 'book real': 1 })
  },
)

it.each([
  ['JSON', false],
  ['a stream', true],
])('a request for input in %s that a fault makes unreadable is injected', async (_, streams) => {
  const place = await stageOf('rewrite: { in: message, remove: /result }', streams)
  await call(place, message)
  await place.stage.settled(1)
  expect(await place.stage.counted()).toEqual({ 'book injected': 1 })
})

it('resets the connection in place of a request for input', async () => {
  for (const streams of [false, true]) {
    const place = await stageOf('reset: {}', streams)
    await call(place, message).catch(() => undefined)
    await place.stage.settled(1)
    expect(await place.stage.counted()).toEqual({ 'book injected': 1 })
  }
})

it('other requests for input, and other results, pass byte for byte', async () => {
  const keys = 'match: { direction: server, method: sampling/createMessage }'
  for (const streams of [false, true]) {
    const place = await stageOf('stream: { drop: all }', streams, keys)
    expect(messageIn((await call(place, message)).text)).toEqual(asking)
    expect(place.stage.counts()).toMatchObject({ matched: 0 })
  }
})
