import { afterEach, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { LAST_CHUNK, POLL, post } from '../accounting/stage.ts'
import { oneFault } from './one-fault.ts'
import { heard, hears, PushApp, said } from './push-app.ts'

let app: PushApp
afterEach(async () => {
  expect(app.faults.broken).toEqual([])
  await app.stage.close()
  expect(app.faults.active).toBe(0)
})

const LIST_CHANGED = 'match: { direction: server, method: "notifications/tools/list_changed" }'
const PROGRESS = 'match: { direction: server, method: notifications/progress }'
const ELICIT = 'match: { direction: server, method: elicitation/create }'
const ELICITED = 'match: { method: elicitation/create }'

const changed = said({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
const progress = (n: number) =>
  said({ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: n } })
const elicit = {
  jsonrpc: '2.0',
  id: 's1',
  method: 'elicitation/create',
  params: { message: 'go?' },
}
const accepted = { jsonrpc: '2.0', id: 's1', result: { action: 'accept' } }

/** The bodies that the upstream got by POST. */
const posted = (): readonly string[] =>
  app.stage.app.requests
    .filter(({ method }) => method === 'POST')
    .map(({ body }) => body.toString())

const gets = (count: number): Promise<void> =>
  eventually(() => (posted().length === count ? undefined : `${posted().length} posts`))

it('loses a notification on the stream of a session', async () => {
  app = await PushApp.open([oneFault('stream: { drop: all }', LIST_CHANGED)])
  const client = await app.listen('a')
  app.say(changed + progress(1))
  await client.sees('progress')
  expect(heard(client)).toBe(`: x-squall-fault bad/stream\n\n${progress(1)}`)
  expect(app.faults.counts()).toMatchObject({ matched: 1, injected: 1 })
})

it('acts on a stream that was open before the rule', async () => {
  app = await PushApp.open([])
  const client = await app.listen('a')
  app.say(changed)
  await client.sees('list_changed')
  app.faults.take([oneFault('stream: { drop: all }', LIST_CHANGED)])
  app.say(changed + progress(1))
  await client.sees('progress')
  expect(heard(client).split('list_changed')).toHaveLength(2)
})

it('sends a delayed notification when its rule is taken back', async () => {
  app = await PushApp.open([oneFault('delay: { fixed: 10m }', LIST_CHANGED)])
  const client = await app.listen('a')
  app.say(changed + progress(1))
  await client.sees('progress')
  expect(heard(client)).not.toContain('list_changed')
  app.faults.take([])
  await client.sees('list_changed')
})

it('ends no session where a message of the server cannot be rejected', async () => {
  app = await PushApp.open([oneFault('session: { expire: true }', LIST_CHANGED)])
  const client = await app.listen('a')
  app.say(changed)
  await eventually(() => (app.faults.counts().not_applicable === 1 ? undefined : 'not counted yet'))
  app.say(progress(1))
  await client.sees('progress')
  expect(app.faults.notApplicable[0]).toMatchObject({ reason: 'headers_sent' })
  expect(heard(client)).toBe(changed + progress(1))
})

it('does not split an event of the upstream by a delayed notification', async () => {
  app = await PushApp.open([oneFault('delay: { fixed: 10m }', LIST_CHANGED)])
  const client = await app.listen('a')
  const half = progress(1).length - 10
  app.say(changed)
  app.say(progress(1).slice(0, half))
  await eventually(() => (app.faults.counts().injected === 1 ? undefined : 'not yet'))
  app.faults.take([])
  app.say(progress(1).slice(half))
  await client.sees('progress')
  await client.sees('list_changed')
  expect(heard(client)).toContain(progress(1))
})

it('drops what it holds when the client leaves', async () => {
  app = await PushApp.open([oneFault('delay: { fixed: 10m }', PROGRESS)])
  const client = await app.listen('a')
  app.say(progress(1))
  await eventually(() => (app.faults.active === 1 ? undefined : 'not yet'))
  client.close()
  await eventually(() => (app.faults.active === 0 ? undefined : 'still held'))
})

it('ends the stream when the upstream does, with what it held', async () => {
  app = await PushApp.open([oneFault('delay: { fixed: 10m }', PROGRESS)])
  const client = await app.listen('a')
  app.say(progress(1))
  await eventually(() => (app.faults.active === 1 ? undefined : 'not yet'))
  app.streams[0]!.socket.write(LAST_CHUNK)
  await client.sees(progress(1))
})

it('answers a request of the server at the endpoint of the session', async () => {
  const fault = 'abort: { rpcError: { code: -1, message: no } }'
  app = await PushApp.open([oneFault(fault, ELICIT)])
  const client = await app.listen('a')
  app.say(said(elicit) + progress(1))
  await client.sees('progress')
  await gets(1)
  const error = { code: -1, message: 'no' }
  expect(JSON.parse(posted()[0]!)).toEqual({ jsonrpc: '2.0', id: 's1', error })
  const request = app.stage.app.requests.find(({ method }) => method === 'POST')!
  expect(request.target).toBe('/message?sessionId=a')
  expect(heard(client)).not.toContain('elicitation')
})

it.each([
  ['stream: { drop: all }', []],
  ['delay: { fixed: 1ms }', [accepted]],
  ['amplify: { copies: 1 }', [accepted, accepted]],
  [
    'abort: { rpcError: { code: -1, message: no } }',
    [{ jsonrpc: '2.0', id: 's1', error: { code: -1, message: 'no' } }],
  ],
  [
    'abort: { rpcError: { code: -1, message: no }, at: response }',
    [{ jsonrpc: '2.0', id: 's1', error: { code: -1, message: 'no' } }],
  ],
  [
    'rewrite: { in: message, set: { /result/action: decline } }',
    [{ jsonrpc: '2.0', id: 's1', result: { action: 'decline' } }],
  ],
])('%s acts on the response of a client to a request of the server', async (fault, bodies) => {
  app = await PushApp.open([oneFault(fault, ELICITED)])
  const client = await app.listen('a')
  app.say(said(elicit))
  await client.sees('elicitation')
  const client2 = await app.stage.exchange(post(accepted, '', '/message?sessionId=a'))
  expect(client2.responses[0]!.status).toBe(202)
  await gets(bodies.length)
  expect(posted().map((body): unknown => JSON.parse(body))).toEqual(bodies)
  expect(app.faults.counts()).toMatchObject({ matched: 1, injected: 1 })
  await hears(client, said(elicit))
})

it.each([
  ['abort: { status: 503 }', 503],
  ['rateLimit: { retryAfter: 1s }', 429],
  ['unauthorized: {}', 401],
])('%s rejects the response of a client, which the server never gets', async (fault, status) => {
  app = await PushApp.open([oneFault(fault, ELICITED)])
  const client = await app.listen('a')
  app.say(said(elicit))
  await client.sees('elicitation')
  const target = '/message?sessionId=a'
  const rejected = await app.stage.exchange(post(accepted, '', target))
  expect(rejected.responses[0]!.status).toBe(status)
  const passed = { jsonrpc: '2.0', method: 'notifications/initialized' }
  await app.stage.exchange(post(passed, '', target))
  await gets(1)
  expect(posted().map((body): unknown => JSON.parse(body))).toEqual([passed])
  expect(app.faults.counts()).toMatchObject({ matched: 1, injected: 1, not_applicable: 0 })
})

it.each(['ping', 'tasks/get', 'tasks/result', 'roots/list', 'custom/question'])(
  'matches the response of a client to %s by its kind',
  async (method) => {
    const of = (keys: string) => oneFault('stream: { drop: all }', `match: { ${keys} }`)
    const ask = { ...elicit, method }
    app = await PushApp.open([of(`kind: response, method: ${method}`)])
    const client = await app.listen('a')
    app.say(said(ask))
    await client.sees(method)
    const target = '/message?sessionId=a'
    const own = { jsonrpc: '2.0', id: 1, method, params: {} }
    await app.stage.exchange(post(own, '', target))
    await app.stage.exchange(post(accepted, '', target))
    expect(posted().map((body): unknown => JSON.parse(body))).toEqual([own])
    expect(app.faults.counts()).toMatchObject({ matched: 1, injected: 1 })
    app.say(said({ jsonrpc: '2.0', id: 1, result: {} }))
    await expect.poll(() => app.stage.sum('squall_calls_total'), POLL).toBe(1)
  },
)

it('a rule about calls of a method leaves responses to it alone', async () => {
  app = await PushApp.open([
    oneFault('stream: { drop: all }', 'match: { method: [ping, elicitation/create] }'),
  ])
  const client = await app.listen('a')
  app.say(said({ ...elicit, method: 'ping' }))
  await client.sees('ping')
  await app.stage.exchange(post(accepted, '', '/message?sessionId=a'))
  await gets(1)
  expect(app.faults.counts()).toMatchObject({ matched: 0 })
})

it('a response belongs to the tool of the call during which the server asked', async () => {
  const keys = 'match: { kind: response, method: elicitation/create, tool: echo }'
  app = await PushApp.open([oneFault('stream: { drop: all }', keys)])
  const client = await app.listen('a')
  await app.call('a', 7, 'echo', { _meta: { progressToken: 'x' } })
  const related = { 'io.modelcontextprotocol/related-task': { taskId: 'T' } }
  app.say(said({ jsonrpc: '2.0', id: 7, result: { task: { taskId: 'T' } } }))
  app.say(said({ ...elicit, params: { _meta: related } }) + said({ ...elicit, id: 's2' }))
  await client.sees('s2')
  for (const id of ['s1', 's2']) {
    await app.stage.exchange(post({ ...accepted, id }, '', '/message?sessionId=a'))
  }
  // The call, and the response to the request of no known call.
  await gets(2)
  expect(app.faults.counts()).toMatchObject({ matched: 1, injected: 1 })
})

it('leaves a response alone that answers no known request', async () => {
  app = await PushApp.open([oneFault('stream: { drop: all }', ELICITED)])
  const client = await app.listen('a')
  app.say(said({ ...elicit, method: 'roots/list' }))
  await client.sees('roots')
  await app.stage.exchange(post(accepted, '', '/message?sessionId=a'))
  await gets(1)
  expect(app.faults.counts()).toMatchObject({ matched: 0 })
})
