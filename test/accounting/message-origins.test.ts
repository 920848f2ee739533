import { afterEach, test } from 'vitest'
import { oneFault } from '../faults/one-fault.ts'
import { type AppExchange, chunk, type RawClient, response, type Script } from '../support/wire.ts'
import { eventually } from '../support/eventually.ts'
import {
  event,
  get,
  json,
  LAST_CHUNK,
  modern,
  post,
  posted,
  request,
  result,
  Stage,
  stream,
  streamHead,
} from './stage.ts'

let stage: Stage
afterEach(() => stage.close())

const ELICIT = {
  jsonrpc: '2.0',
  id: 's1',
  method: 'elicitation/create',
  params: { message: 'go?' },
}
const progress = (token: unknown) => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: token, progress: 1 },
})
const ACCEPTED = response('202 Accepted', [], 'Accepted')
const OF_SERVER = 'match: { direction: server, method: elicitation/create }'
const OF_PROGRESS = 'match: { direction: server, method: notifications/progress }'
const OF_CLIENT = 'match: { method: elicitation/create }'
const DECLINE = 'abort: { rpcError: { code: -32000, message: declined } }'
const SESSION = 'Mcp-Session-Id: s\r\n'

interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly params?: {
    readonly name?: string
    readonly _meta?: { readonly progressToken?: unknown }
  }
  readonly error?: unknown
  readonly result?: { readonly action?: string }
}

/**
 * An upstream whose tool `book` asks its client before it responds, and fails without acceptance.
 * It sends on the stream of the call, or on one that the client has opened by GET.
 */
function asking(pushes: boolean): Script {
  let push: AppExchange | undefined
  let open: { readonly id: unknown; readonly on: AppExchange } | undefined
  return (exchange) => {
    if (exchange.request.method === 'GET') {
      push = exchange
      const first = chunk('event: endpoint\ndata: /message?sessionId=s\n\n')
      return void exchange.send([streamHead(), first])
    }
    const { id, method, params, error, result: accepted } = posted(exchange) as Message
    if (method === 'tools/call') {
      if (params?.name === 'fails') {
        return void exchange.send(stream(result(id, { content: [], isError: true })))
      }
      const on = pushes ? push! : exchange
      open = { id, on }
      if (pushes) void exchange.write(ACCEPTED)
      else void exchange.write(streamHead())
      const token = params?._meta?.progressToken
      return void on.send([event(progress(token)), event(ELICIT)])
    }
    void exchange.write(ACCEPTED)
    if (open === undefined || (error === undefined && accepted === undefined)) return undefined
    const isError = error !== undefined || accepted?.action !== 'accept'
    const last = event(result(open.id, { content: [], isError }))
    const end = pushes ? [last] : [last, LAST_CHUNK]
    void open.on.send(end)
    return undefined
  }
}

const CALL = { name: 'book', _meta: { progressToken: 7 } }

/** Calls the tool, and responds to its request when that comes. */
async function book(pushes: boolean, answers = true): Promise<RawClient> {
  const target = pushes ? '/message?sessionId=s' : '/mcp'
  const lines = pushes ? '' : SESSION
  const push = pushes ? await stage.send(get('/sse'), 'GET') : undefined
  await push?.sees('endpoint')
  const client = await stage.send(post(request(1, 'tools/call', CALL), lines, target))
  if (answers) {
    await (push ?? client).sees('elicitation')
    const accepted = { jsonrpc: '2.0', id: 's1', result: { action: 'accept' } }
    await stage.send(post(accepted, lines, target))
  }
  return push ?? client
}

/** Waits until the rule took effect. */
const acted = (): Promise<void> =>
  eventually(() => (stage.squall.faults!.counts().injected > 0 ? undefined : 'not yet'))

const TRANSPORTS = [
  ['the stream of a call', false],
  ['HTTP+SSE', true],
] as const

test.each(TRANSPORTS)(
  'a call whose request to the client was declined on %s',
  async (_, pushes) => {
    stage = await Stage.open(asking(pushes), { rules: [oneFault(DECLINE, OF_SERVER)] })
    await book(pushes, false)
    await stage.ends({ 'tools/call book: tool_error by injected': 1 })
  },
)

test.each(
  TRANSPORTS.flatMap(([name, pushes]) =>
    [DECLINE, 'rewrite: { in: message, set: { /result/action: decline } }'].map(
      (fault) => [fault, name, pushes] as const,
    ),
  ),
)('a call after %s on the response of the client by %s', async (fault, _, pushes) => {
  stage = await Stage.open(asking(pushes), { rules: [oneFault(fault, OF_CLIENT)] })
  await book(pushes)
  await stage.ends({ 'tools/call book: tool_error by injected': 1 })
})

test.each(
  TRANSPORTS.flatMap(([name, pushes]) =>
    [
      ['hang: {}', OF_SERVER],
      ['stream: { drop: all }', OF_SERVER],
      ['delay: { fixed: 10m }', OF_SERVER],
      ['rewrite: { in: message, set: { /params/message: x } }', OF_SERVER],
      ['stream: { drop: all }', OF_PROGRESS],
      ['hang: {}', OF_PROGRESS],
    ].map(([fault, keys]) => [fault!, keys!, name, pushes] as const),
  ),
)('a client that gives up after %s, %s by %s', async (fault, keys, _, pushes) => {
  stage = await Stage.open(asking(pushes), { rules: [oneFault(fault, keys)] })
  const client = await book(pushes, false)
  await acted()
  client.close()
  await stage.ends({ 'tools/call book: abandoned by injected': 1 })
})

test.each(TRANSPORTS)('a client whose response is lost by %s gives up', async (_, pushes) => {
  stage = await Stage.open(asking(pushes), {
    rules: [oneFault('stream: { drop: all }', OF_CLIENT)],
  })
  const client = await book(pushes)
  await acted()
  client.close()
  await stage.ends({ 'tools/call book: abandoned by injected': 1 })
})

test('a call that loses a message of the server by its own rule', async () => {
  const rules = [oneFault('stream: { drop: all }', 'match: { tool: book }')]
  stage = await Stage.open(asking(false), { rules })
  const client = await book(false, false)
  await acted()
  client.close()
  await stage.ends({ 'tools/call book: abandoned by injected': 1 })
})

test('the error of the upstream after a lost notification is its own', async () => {
  stage = await Stage.open(asking(false), {
    rules: [oneFault('stream: { drop: all }', OF_PROGRESS)],
  })
  const client = await stage.send(post(request(1, 'tools/call', CALL), SESSION))
  await client.sees('elicitation')
  const declined = { jsonrpc: '2.0', id: 's1', result: { action: 'decline' } }
  await stage.send(post(declined, SESSION))
  await stage.ends({ 'tools/call book: tool_error': 1 })
})

test('a call that ends well after a fault on its messages is the upstream’s', async () => {
  const rules = [oneFault('delay: { fixed: 1ms }', OF_SERVER)]
  stage = await Stage.open(asking(false), { rules })
  await book(false)
  await stage.ends({ 'tools/call book: ok': 1 })
})

test('a fault on the messages of one call leaves the others of its session alone', async () => {
  stage = await Stage.open(asking(false), { rules: [oneFault('hang: {}', OF_SERVER)] })
  const client = await book(false, false)
  await acted()
  await stage.exchange(post(request(2, 'tools/call', { name: 'fails' }), SESSION))
  await stage.ends({ 'tools/call fails: tool_error': 1 })
  client.close()
  await stage.ends({
    'tools/call fails: tool_error': 1,
    'tools/call book: abandoned by injected': 1,
  })
})

test.each(['hang: {}', 'delay: { fixed: 10m }'])(
  'a client that gives up while %s holds a request for input',
  async (fault) => {
    const asked = {
      resultType: 'input_required',
      inputRequests: { q: { method: 'elicitation/create', params: {} } },
    }
    let streams = false
    const script: Script = (exchange) =>
      void exchange.send(streams ? stream(result(1, asked)) : [json(result(1, asked))])
    stage = await Stage.open(script, { rules: [oneFault(fault, OF_SERVER)] })
    for (streams of [false, true]) {
      const client = await stage.send(post(modern(1)))
      await eventually(() => (stage.squall.faults!.active === 1 ? undefined : 'not held'))
      client.close()
      await eventually(() => (stage.squall.faults!.active === 0 ? undefined : 'held'))
    }
    await stage.ends({ 'tools/call echo: abandoned by injected': 2 })
  },
)
