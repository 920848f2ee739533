import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv, type ValidateFunction } from 'ajv'
import type { RequestListener } from 'node:http'
import type { TSchema } from 'typebox'
import { expect, it } from 'vitest'
import { API, type Endpoint, OTHER_PATHS, type Tasks } from '../../src/admin/contract/api.ts'
import { askAdmin, checkResponse } from '../../src/admin/contract/api-client.ts'
import { SCHEMAS } from '../../src/admin/contract/api-schemas.ts'
import { TemporaryFaults } from '../../src/rules/watch/temporary-faults.ts'
import type { EndedCall } from '../../src/telemetry/call-line.ts'
import { createAdmin } from '../../src/admin/server.ts'
import { closers } from '../support/closers.ts'
import { type Api, type ApiSetup, AT, NOW, RULES } from './api-setup.ts'
import { type EventReader, readEvents, readTap } from './event-reader.ts'
import { startSquall } from '../support/commands.ts'
import { startUpstream } from '../support/wire.ts'

const SOURCE = {
  call: { transport: 'stdio' },
  headerTrace: undefined,
  receivedAt: 0,
  resumedAt: -1,
} as const

interface Operation {
  readonly security: readonly object[]
  readonly responses: Readonly<Record<string, { readonly content: Content }>>
}

type Content = Readonly<Record<string, { readonly schema: { readonly $ref: string } }>>

/** The part of an OpenAPI document that the tests read. */
type OpenApi = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }

const opened = closers()
const ajv = new Ajv({ strict: true, allowUnionTypes: true })
const checks = new Map<TSchema | undefined, ValidateFunction>()
const INVALID_RULES = 'rules:\n  - name: a\n    percnt: 1\n    faults: [{ dely: {} }]\n'
const JSON_ENDPOINTS: readonly Endpoint[] = Object.values(API)
const ENDPOINTS: readonly Endpoint[] = [...JSON_ENDPOINTS, ...Object.values(OTHER_PATHS)]

async function start(setup: ApiSetup = {}): Promise<Api> {
  return opened(await startSquall({ admin: setup }))
}

/** Fails where a value has a field that its schema does not know, too. */
function expectFit(schema: TSchema | undefined, value: unknown): void {
  const check = checks.get(schema) ?? ajv.compile(closed(schema) as object)
  checks.set(schema, check)
  check(value)
  expect(check.errors).toBeNull()
}

/** The schema, with all objects in it closed. */
function closed(node: unknown): unknown {
  if (typeof node !== 'object' || node === null) return node
  if (Array.isArray(node)) return node.map(closed)
  const copy = Object.fromEntries(Object.entries(node).map(([key, each]) => [key, closed(each)]))
  const type = JSON.stringify(copy['type'] ?? '')
  return type.includes('"object"') ? { ...copy, additionalProperties: false } : copy
}

const CALL = {
  method: 'tools/call',
  name: 'search',
  outcome: 'rpc_error',
  origin: 'injected',
  seconds: 0.02,
  upstreamSeconds: 0.01,
  requestBytes: 90,
  responseBytes: 40,
  trace: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
} as const

/** A call ends, with everything that is shown of single calls. */
function end({ watch }: Api, more: Partial<EndedCall> = {}): void {
  watch.ended({
    ...CALL,
    id: 'a',
    session: 's',
    task: { kind: 'header', key: 'trip-1' },
    client: { name: 'agent', version: '1' },
    error: { status: 500, code: -32603, message: 'no' },
    source: SOURCE,
    protocolVersion: undefined,
    endedAt: 20,
    faults: [{ rule: 'slow', fault: 'abort' }],
    ...more,
  })
}

/** A call fails that an agent with a key made, and is executed again. */
function endTask({ agents }: Api): void {
  const head = { method: 'POST', target: '/', version: '1.1', headers: ['x-task-id', 'a'] } as const
  const call = { id: 1, method: 'tools/call', name: 'search', params: {} }
  const more = { transport: 'streamable-http', protocolVersion: '', progressToken: 1 } as const
  const server = agents.watch.serverOf('')
  const caller = { head, peer: '' }
  const facts = { caller, session: 's', trace: undefined, client: undefined, server }
  for (const outcome of ['http_error', 'ok'] as const) {
    agents.watch.ended(
      agents.watch.started({ ...call, ...more }, facts, 1)!,
      {
        record: { ...CALL, outcome },
        faults: outcome === 'ok' ? [] : [{ rule: 'slow', fault: 'abort' }],
        execution: 'known' as const,
        isTransient: true,
        isSessionLost: false,
        client: { name: 'agent', version: '1' },
        session: 's',
      },
      1,
    )
  }
}

/** A sidecar with something of everything that the API can show. */
async function busy(): Promise<Api> {
  const api = await start()
  api.take(RULES)
  api.call()
  const entry = { rule: 'slow', fault: 'delay', method: undefined, session: 'cafe0123' }
  const more = { tool: 'search', effect: 'late', delayMs: 12.5 }
  api.recent.add({ at: NOW, entry: { ...entry, ...more, id: 'a' } })
  api.recent.add({ at: NOW, entry: { ...entry, ...more, tool: undefined, id: undefined } })
  api.metrics.call(CALL)
  api.metrics.call({ ...CALL, outcome: 'ok', origin: 'real' })
  end(api)
  endTask(api)
  api.arming.disarm('guard', 'too many errors')
  return api
}

it('describes each real response, with every field of it', async () => {
  const api = await busy()
  const look = async (): Promise<EventReader> => {
    for (const { path, method, response, stream } of JSON_ENDPOINTS) {
      if (method === 'GET' && stream === undefined) expectFit(response, await api.get(path))
    }
    const reader = opened(await readEvents(api.url))
    expectFit(API.events.response, await reader.next())
    return reader
  }
  const reader = await look()
  expectFit(API.events.response, await reader.next())
  // The same for a version that is rejected, and for one that is absent.
  api.take(INVALID_RULES)
  await look()
  api.rules.take({ kind: 'absent', digest: 'none', reason: 'no such file' })
  await look()
  for (const { path, request, response } of [API.disarm, API.arm]) {
    const body = { reason: 'deploy' }
    expectFit(request, body)
    expectFit(response, await (await api.post(path, JSON.stringify(body))).json())
  }
})

/** Copies of a JSON value, each with one value in it that is another or missing. */
function* damaged(value: unknown): Generator {
  yield* [null, -1, 1.5, 'x', true, [], {}]
  if (typeof value !== 'object' || value === null) return
  for (const key of Object.keys(value)) {
    const copyWith = (inner: unknown[]): unknown =>
      Array.isArray(value)
        ? value.toSpliced(Number(key), 1, ...inner)
        : Object.fromEntries(
            Object.entries(value).flatMap((entry) =>
              entry[0] === key ? inner.map((each) => [key, each]) : [entry],
            ),
          )
    yield copyWith([])
    for (const inner of damaged(value[key as keyof object])) yield copyWith([inner])
  }
}

/** The schema without the bounds at which a client cuts. */
function unbounded(node: unknown): unknown {
  if (typeof node !== 'object' || node === null) return node
  if (Array.isArray(node)) return node.map(unbounded)
  const kept = Object.entries(node).filter(([key]) => !/^max(Length|Items|Properties)$/.test(key))
  return Object.fromEntries(kept.map(([key, each]) => [key, unbounded(each)]))
}

it('a client ignores what a later sidecar adds, and does without what is optional', async () => {
  const api = await busy()
  const state = (await api.get(API.state.path)) as Record<string, unknown>
  const { listeners: _, ...earlier } = state
  const read = checkResponse(API.state, { ...earlier, shiny: { of: 'a later version' } })
  expect(read).not.toHaveProperty('shiny')
  expect(read.listeners).toBeUndefined()
  expect(read.version).toBe(state['version'])
})

it('a client accepts a damaged response exactly where its schema does', async () => {
  const api = await busy()
  let [accepted, rejected] = [0, 0]
  for (const endpoint of JSON_ENDPOINTS) {
    if (endpoint.method !== 'GET' || endpoint.stream !== undefined) continue
    const check = new Ajv({ allowUnionTypes: true }).compile(unbounded(endpoint.response) as object)
    for (const value of damaged(await api.get(endpoint.path))) {
      const isAccepted = check(value)
      const read = (): unknown => checkResponse(endpoint, value)
      if (isAccepted) expect(read).not.toThrow()
      else expect(read).toThrow(/ is missing|does not match the schema/)
      if (isAccepted) accepted++
      else rejected++
    }
  }
  expect([accepted > 200, rejected > 500]).toEqual([true, true])
})

it('describes each call of a tap, with every field of it', async () => {
  const api = await busy()
  const tap = opened(await readTap(api.url))
  end(api)
  expectFit(API.tap.response, await tap.next())
  end(api, { outcome: 'ok', error: undefined, changed: true, client: undefined, session: '' })
  expectFit(API.tap.response, await tap.next())
})

it('describes each verdict, with every field of it', async () => {
  const api = await busy()
  const verdicts = opened(await readTap(api.url, '', API.verdicts.path))
  endTask(api)
  const line = await verdicts.next()
  expectFit(API.verdicts.response, line)
  expect(line).toMatchObject({ task: 'a', verdict: 'duplicate_execution', idempotent: false })
})

it('filters tasks by their verdicts, and rejects a filter that it does not know', async () => {
  const api = await busy()
  const tasks = (await api.get(`${API.tasks.path}?verdict=duplicate_execution`)) as Tasks
  expect(tasks.tasks.map(({ task }) => task)).toEqual(['a'])
  expect(((await api.get(`${API.tasks.path}?tool=other`)) as Tasks).tasks).toEqual([])
  const rejected = await fetch(`${api.url}${API.tasks.path}?verdict=runs`)
  expect([rejected.status, await rejected.json()]).toMatchObject([
    400,
    { error: expect.stringContaining('unknown verdict "runs"') as string },
  ])
})

it('describes each real failure', async () => {
  const api = await busy()
  api.arming.disarm('environment', 'prod')
  const failures = [
    fetch(`${api.url}/api/nothing`),
    fetch(`${api.url}/api/state`, { method: 'DELETE' }),
    fetch(`${api.url}/api/arm`, { method: 'POST' }),
    fetch(`${api.url}/api/state`, { headers: { authorization: 'Bearer no' } }).then(() =>
      api.post('/api/disarm', '{"reason":7}'),
    ),
    api.post('/api/arm'),
  ]
  const statuses: number[] = []
  for (const response of await Promise.all(failures)) {
    statuses.push(response.status)
    expectFit(SCHEMAS.failure, await response.json())
  }
  expect(statuses).toEqual([404, 405, 401, 400, 409])
})

it('describes itself by OpenAPI, with the schemas that responses fit', async () => {
  const api = await busy()
  const served = (await api.get(OTHER_PATHS.openapi.path)) as OpenApi
  const { valid, errors } = await new Validator().validate(structuredClone(served))
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined })
  const resolver = new Ajv({ strict: false, allowUnionTypes: true }).addSchema(served, 'api')
  for (const { path, method, stream } of JSON_ENDPOINTS) {
    const { responses, security } = served.paths[path]![method.toLowerCase()]!
    expect(security.some((each) => 'adminToken' in each)).toBe(method !== 'GET')
    if (method !== 'GET' || stream !== undefined) continue
    const { $ref } = responses['200']!.content['application/json']!.schema
    const check = resolver.compile({ $ref: `api${$ref}` })
    check(await api.get(path))
    expect(check.errors, path).toBeNull()
  }
})

it('knows every path of the server and its methods, and no others', async () => {
  const api = await start()
  const admin = createAdmin({
    metrics: api.metrics,
    readiness: () => ({ ready: true, reason: 'serving' }),
    logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    version: '1.2.3',
    rules: api.rules,
    temporary: new TemporaryFaults(api.rules),
    watch: api.watch,
    agents: api.agents,
    appProbes: [
      {
        key: 'app/livez',
        isHook: false,
        timeoutMs: 1000,
        action: { kind: 'tcp', host: '127.0.0.1', port: 1 },
      },
    ],
  })
  const isAt = (path: string, served: string): boolean =>
    path.endsWith('…') ? served.startsWith(path.slice(0, -1)) : served === path
  const unknown = admin.paths.filter((served) => !ENDPOINTS.some(({ path }) => isAt(path, served)))
  const absent = ENDPOINTS.filter(({ path }) => !admin.paths.some((served) => isAt(path, served)))
  expect([unknown, absent]).toEqual([[], []])
  for (const { path } of JSON_ENDPOINTS) {
    const known = JSON_ENDPOINTS.filter((each) => each.path === path).map(({ method }) => method)
    const { headers } = await fetch(api.url + path, { method: 'OPTIONS' })
    const methods = headers.get('allow')!.split(', ')
    expect(methods.filter((each) => each !== 'HEAD' && each !== 'OPTIONS')).toEqual(known)
  }
})

/** Asks a program that is no sidecar for rules; the result is why it is not believed. */
async function askedOf(listener: RequestListener, timeoutMs = 10_000): Promise<string> {
  const url = new URL(opened(await startUpstream(listener)).url)
  const options = { client: 'test', token: 'a-secret-token', timeoutMs }
  return askAdmin({ url }, API.rules, options).then(
    ({ value }) => JSON.stringify(value),
    (error: Error) => error.message,
  )
}

// `squall load --sidecar`, `top`, `experiment` and `status` accept the port of any program: its
// output must not fill the memory, reach a terminal, or pass for the numbers of a sidecar.
it('bounds and checks what a program that is no sidecar sends', async () => {
  const rule = { name: '\u001b[2J', faults: [], about: 'calls', since: AT, appliedAt: null }
  const rest = { from: null, until: null, phase: 'on', percent: 1, sampled: 1, active: 0 }
  const rules = (more: object, many = 1): string =>
    JSON.stringify({
      generation: 1,
      digest: 'x'.repeat(9_000),
      count: 1,
      rules: Array.from({ length: many }, () => ({ ...rule, ...rest, counts: {}, ...more })),
      unknown: 'y',
    })
  const send =
    (body: string): RequestListener =>
    (_, res) =>
      res.end(body)
  const [good, ...bad] = await Promise.all([
    askedOf(send(rules({ counts: JSON.parse('{"matched":1,"__proto__":{"a":1},"A":1}') }, 3_000))),
    askedOf(send(rules({ phase: 'sometimes' }))),
    askedOf(send(rules({ sampled: -1 }))),
    askedOf(send('{"generation":1}')),
    askedOf(send('[]')),
    askedOf(send('<html>')),
    askedOf(send(`"${'x'.repeat(4 * 1024 * 1024)}"`)),
    askedOf((_, res) => res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()),
    askedOf((req, res) =>
      res.writeHead(418).end(JSON.stringify({ error: `\u0007 ${req.headers.authorization}` })),
    ),
    askedOf((_, res) => res.writeHead(500).end('x'.repeat(1024 * 1024))),
    askedOf((_, res) => res.write('{'), 200),
  ])
  const read = JSON.parse(good) as { digest: string; rules: { name: string; counts: object }[] }
  expect(Object.keys(read)).toEqual(['generation', 'digest', 'count', 'rules'])
  expect(read.digest).toBe(`${'x'.repeat(80)}…`)
  expect(read.rules).toHaveLength(2_010)
  expect(read.rules[0]).toMatchObject({ name: '\\u{1b}[2J' })
  expect(read.rules[0]!.counts).toEqual({ matched: 1 })
  const doubt = '; check that this command and the sidecar run the same version of Squall'
  expect(bad).toEqual([
    `/api/rules cannot be read: rules[].phase does not match the schema${doubt}`,
    `/api/rules cannot be read: rules[].sampled does not match the schema${doubt}`,
    `/api/rules cannot be read: digest is missing${doubt}`,
    `/api/rules cannot be read: the response does not match the schema${doubt}`,
    '/api/rules: the response is not valid JSON',
    'the response is too large',
    expect.any(String),
    '/api/rules responded with status 418: \\u{7} Bearer …',
    '/api/rules responded with status 500',
    'no response within 0.2 s',
  ])
})
