import type { RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { explain } from '../../src/rules/explain/explain.ts'
import { compileRules } from '../../src/rules/match/compile.ts'
import { facts } from '../rules/facts.ts'
import { faultText, rejected } from '../rules/rules-text.ts'
import { call, type Place, post, startSidecar, textOf } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const META = 'io.modelcontextprotocol/'

/**
 * An upstream that responds to every request with a result, in JSON or by a stream, and notes what
 * it gets.
 */
function noting(
  bodies: string[],
  result: object = { content: [] },
  streams = false,
): RequestListener {
  return (req, res) => {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      const text = Buffer.concat(parts).toString()
      bodies.push(text)
      const messages = [JSON.parse(text) as { id?: number }].flat()
      const responses = messages.flatMap(({ id }) =>
        id === undefined ? [] : [{ jsonrpc: '2.0', id, result }],
      )
      if (responses.length === 0) return void res.writeHead(202).end()
      if (streams) {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        return void res.end(`data: ${JSON.stringify(responses[0])}\n\n`)
      }
      res.writeHead(200, { 'content-type': 'application/json' })
      return void res.end(JSON.stringify(messages.length === 1 ? responses[0] : responses))
    })
  }
}

async function stageOf(fault: string, keys: string, result?: object, streams?: boolean) {
  const bodies: string[] = []
  const stage = opened(
    await startSidecar({
      rules: [oneFault(fault, keys)],
      upstream: noting(bodies, result, streams),
    }),
  )
  return { stage, bodies }
}

const request = (method: string, params: object, id: number | undefined = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })
const setting = (pointer: string, value: string): string =>
  `rewrite: { in: message, set: { ${pointer}: ${value} } }`
const TOOL = 'match: { tool: echo }'
const CALL = { name: 'echo', arguments: { n: 12345678901234567890n.toString() } }

it.each([
  [
    'initialize',
    '/params/protocolVersion',
    { protocolVersion: '2025-11-25', capabilities: { roots: {} } },
    '2024-11-05',
  ],
  ['resources/read', '/params/uri', { uri: 'file:///a' }, 'file:///b'],
  ['completion/complete', '/params/argument/value', { argument: { name: 'a', value: 'b' } }, 'c'],
  ['tools/list', '/params/cursor', { cursor: 'a' }, 'z'],
  ['logging/setLevel', '/params/level', { level: 'info' }, 'debug'],
  ['tasks/get', '/params/taskId', { taskId: 'a' }, 'b'],
])('the upstream gets a %s with another %s', async (method, pointer, params, value) => {
  const { stage, bodies } = await stageOf(setting(pointer, value), `match: { method: ${method} }`)
  const text = request(method, params)
  await call(stage, text)
  const keys = pointer.split('/').slice(1)
  const changed = JSON.parse(text) as Record<string, unknown>
  const parent = keys.slice(0, -1).reduce((at, key) => at[key] as typeof at, changed)
  parent[keys.at(-1)!] = value
  expect(bodies).toEqual([JSON.stringify(changed)])
  expect(stage.counts()).toMatchObject({ injected: 1 })
})

it('the upstream gets a call with another name, and other numbers keep their digits', async () => {
  const { stage, bodies } = await stageOf(setting('/params/name', 'other'), TOOL)
  const text = `{"id":1, "params":{"name":"echo","n":10000000000000000001},"method":"tools/call","jsonrpc":"2.0"}`
  await call(stage, text)
  expect(bodies).toEqual([text.replace('echo', 'other')])
  await stage.settled()
  expect(await stage.origins()).toEqual(['injected'])
})

it('changes what stands in _meta', async () => {
  const fault = 'rewrite: { in: message, remove: /params/_meta/progressToken }'
  const { stage, bodies } = await stageOf(fault, TOOL)
  await call(stage, request('tools/call', { ...CALL, _meta: { progressToken: 7, x: 1 } }))
  expect(JSON.parse(bodies[0]!)).toMatchObject({ params: { _meta: { x: 1 } } })
  expect(bodies[0]).not.toContain('progressToken')
})

it('changes one call of a batch alone', async () => {
  const { stage, bodies } = await stageOf(setting('/params/name', 'other'), TOOL)
  const [first, second] = [request('tools/call', CALL), request('tools/call', { name: 'b' }, 2)]
  await call(stage, `[${second} , ${first}]`)
  expect(bodies).toEqual([`[${second} , ${first.replace('"echo"', '"other"')}]`])
})

it('reads a compressed call', async () => {
  const { stage, bodies } = await stageOf(setting('/params/name', 'other'), TOOL)
  const body = gzipSync(request('tools/call', CALL))
  const got = await fetch(`${stage.url}/mcp`, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'content-encoding': 'gzip',
    },
  })
  expect(got.status).toBe(200)
  expect(bodies).toEqual([request('tools/call', { ...CALL, name: 'other' })])
})

it('changes both a request and its response', async () => {
  const fault = 'rewrite: { in: message, set: { /params/name: other, /result/content: [] } }'
  const { stage, bodies } = await stageOf(fault, TOOL, { content: [1] })
  expect((await call(stage, request('tools/call', CALL))).text).toContain('"content":[]')
  expect(bodies[0]).toContain('"other"')
})

it('leaves a call alone that has nothing to change', async () => {
  const { stage, bodies } = await stageOf(setting('/params/cursor', 'x'), TOOL)
  const text = request('tools/call', CALL)
  await call(stage, text)
  expect(bodies).toEqual([text])
  await stage.settled()
  expect(stage.counts()).toMatchObject({ injected: 0, not_applicable: 1 })
})

const headers = (method: string, name: string) => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  'mcp-name': name,
})
const MODERN = { _meta: { [`${META}protocolVersion`]: '2026-07-28' } }

it('changes the input that a client sends with a further call', async () => {
  const fault = setting('/params/inputResponses/*/action', 'decline')
  const { stage, bodies } = await stageOf(fault, TOOL)
  const inputResponses = { q: { action: 'accept' }, r: { action: 'accept' } }
  const params = { ...CALL, ...MODERN, inputResponses, requestState: 'opaque' }
  const text = request('tools/call', params)
  await call({ ...stage, headers: headers('tools/call', 'echo') }, text)
  expect(bodies).toEqual([text.replaceAll('accept', 'decline')])
})

const ASKED = {
  resultType: 'input_required',
  inputRequests: {
    a: { method: 'elicitation/create', params: { message: 'go?', n: 1 } },
    '*': { method: 'sampling/createMessage', params: { message: 'go?' } },
  },
  requestState: 'opaque',
}

it('/params of a request of the server means the request in a result, too', async () => {
  const keys = 'match: { direction: server, method: elicitation/create }'
  const { stage } = await stageOf(setting('/params/message', 'really?'), keys, ASKED)
  const place: Place = { ...stage, headers: headers('tools/call', 'echo') }
  const got = await call(place, request('tools/call', { ...CALL, ...MODERN }))
  const changed = JSON.stringify(ASKED).replace('go?', 'really?')
  expect(got.text).toBe(`{"jsonrpc":"2.0","id":1,"result":${changed}}`)
  await stage.settled()
  expect(await stage.origins()).toEqual(['real'])
})

it('/params of a request of the server is changed on the stream of a call', async () => {
  const elicit = {
    jsonrpc: '2.0',
    id: 's',
    method: 'elicitation/create',
    params: { message: 'go?' },
  }
  const stage = opened(
    await startSidecar({
      rules: [
        oneFault(
          setting('/params/message', 'really?'),
          'match: { direction: server, method: elicitation/create }',
        ),
      ],
      upstream: (req, res) => {
        req.resume()
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        res.end(`id: 1\ndata: ${JSON.stringify(elicit)}\n\n`)
      },
    }),
  )
  const text = await textOf(await post(stage, request('tools/call', CALL)))
  expect(text).toContain(`id: 1\ndata: ${JSON.stringify(elicit).replace('go?', 'really?')}\n\n`)
  await eventually(() => (stage.counts().injected === 1 ? undefined : 'not yet'))
})

it.each(['{ /result: id }', '{ /params: method }', '{ /error: /jsonrpc }'])(
  'renames nothing to the members by which a message is known: %s',
  (rename) => {
    const [problem] = rejected(faultText(`{ rewrite: { in: message, rename: ${rename} } }`))
    expect(problem!.message).toContain('cannot be changed')
  },
)

it.each([
  ['/params/name', {}, 'request'],
  ['/result/content', {}, 'response'],
  ['/result/content', { kind: 'notification', id: undefined, method: 'notifications/x' }, 'no'],
  ['/params/x', { kind: 'notification', id: undefined, method: 'notifications/x' }, 'request'],
  ['/params/x', { kind: 'response', method: 'elicitation/create' }, 'no'],
  ['/result/x', { kind: 'response', method: 'elicitation/create' }, 'response'],
  ['/params/x', { from: 'server', method: 'elicitation/create' }, 'request'],
  ['/result/x', { from: 'server', method: 'elicitation/create' }, 'no'],
] as const)('explain knows where %s of %j is', (pointer, of, by) => {
  const direction = 'from' in of ? 'direction: server, ' : ''
  const method = 'method' in of ? of.method : 'tools/call'
  const rule = oneFault(setting(pointer, '1'), `match: { ${direction}method: ${method} }`)
  const known = facts({ ...of, name: undefined, protocolVersion: '2025-11-25' })
  const [{ matches, faults }] = explain(compileRules({ rules: [rule] }), known, 0).rules as [
    ReturnType<typeof explain>['rules'][0],
  ]
  expect(matches).toBe(true)
  const { acts, by: hook } = faults[0]!.responses[0]!
  expect(acts === 'no' ? acts : hook).toBe(by)
})

it.each([
  'nullify: /result',
  'retype: { /result: string }',
  'set: { /result: [] }',
  'remove: /result',
])('a response that is none any more is an injected error: %s', async (operation) => {
  for (const streams of [false, true]) {
    const fault = `rewrite: { in: message, ${operation} }`
    const { stage } = await stageOf(fault, TOOL, undefined, streams)
    await call(stage, request('tools/call', CALL))
    await stage.settled()
    expect(await stage.metrics()).toContain(
      'squall_calls_total{outcome="incomplete",origin="injected",method="tools/call",tool="echo"} 1',
    )
  }
})
