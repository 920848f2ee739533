// Frameworks mount an upstream at `/mcp/` and redirect `/mcp` there with 307. Squall saw two calls
// where the client made one: shares were sampled twice, counters advanced twice, and metrics
// counted twice.
import { afterEach, describe, expect, it } from 'vitest'
import type { RequestListener } from 'node:http'
import { callMessage, mounted, type Redirect, responding, starlette } from '../support/wire.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

const running: RuledSquall[] = []

afterEach(async () => {
  for (const each of running.splice(0)) await each.close()
})

async function start(
  rules: string,
  redirect: Redirect = starlette,
  app: RequestListener = responding('fine'),
): Promise<RuledSquall> {
  const started = await startSquall({ rules: `rules:\n${rules}`, upstream: mounted(app, redirect) })
  running.push(started)
  return started
}

const JSON_TYPE = { 'content-type': 'application/json', accept: 'application/json' }

/** Calls as an SDK does: with fetch, which follows 307 and 308. */
async function ask({ squall }: RuledSquall, id: number | string, body = callMessage(id, 'probe')) {
  const response = await fetch(`http://127.0.0.1:${squall.port}/mcp`, {
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, text, marker: response.headers.get('x-squall-fault') }
}

async function statuses(started: RuledSquall, calls: number): Promise<number[]> {
  const seen: number[] = []
  for (let id = 0; id < calls; id++) seen.push((await ask(started, id)).status)
  return seen
}

const rule = (selection: string, fault: string, match = '{ tool: probe }'): string =>
  `  - { name: r, match: ${match}, ${selection}, faults: [${fault}] }\n`
const ABORT = 'abort: { status: 503 }'

const ways: readonly (readonly [string, Redirect])[] = [
  ['307 to a URL', starlette],
  ['308 to a URL', (host, path) => ({ ...starlette(host, path), status: 308 })],
  ['307 to a path', (_, location) => ({ status: 307, location })],
  ['307 to a relative path', () => ({ status: 307, location: 'mcp/' })],
  ['307 to another name of the host', (_, path) => ({ status: 307, location: `http://x${path}` })],
]

describe.each(ways.slice(0, 4))('%s: a redirected call is one call', (_, redirect) => {
  it('is sampled once and counted once', async () => {
    const started = await start(rule('every: 2', ABORT), redirect)
    expect(await statuses(started, 6)).toEqual([200, 503, 200, 503, 200, 503])
    const { squall } = started
    expect(await squall.metric('squall_calls_total')).toBe(6)
    expect(await squall.metric('squall_calls_total', { outcome: 'ok', origin: 'real' })).toBe(3)
    expect(await squall.metric('squall_calls_total', { origin: 'injected' })).toBe(3)
    expect(await squall.metric('squall_rule_matches_total')).toBe(6)
    expect(await squall.metric('squall_in_flight_requests')).toBe(0)
  })
})

it('a share of the calls is the share that the client sees', async () => {
  const started = await start(rule('percent: 50', ABORT))
  const failed = (await statuses(started, 100)).filter((status) => status === 503).length
  expect(await started.squall.metric('squall_rule_matches_total')).toBe(100)
  expect(await started.squall.metric('squall_calls_total', { origin: 'injected' })).toBe(failed)
  expect(failed).toBeGreaterThan(25)
  expect(failed).toBeLessThan(75)
})

it('`first` is not used up by redirects', async () => {
  const started = await start(rule('first: 1', "abort: { toolError: 'once' }"))
  const texts: boolean[] = []
  for (let id = 0; id < 2; id++) texts.push((await ask(started, id)).text.includes('once'))
  expect(texts).toEqual([true, false])
})

it('a delay is waited once, and marked on the response that the client keeps', async () => {
  const started = await start(rule('percent: 100', 'delay: { fixed: 20ms }'))
  expect(await ask(started, 1)).toMatchObject({ status: 200, marker: 'r/delay' })
  expect(await started.squall.metric('squall_faults_injected_total')).toBe(1)
  const text = await (await fetch(`${started.squall.admin}/metrics`)).text()
  expect(text).toContain('squall_injected_delay_seconds_count{rule="r"} 1')
  expect(await started.squall.metric('squall_calls_total')).toBe(1)
})

it('a fault of the response acts on what the redirect leads to', async () => {
  const started = await start(rule('every: 2', 'corrupt: { mode: html }'))
  const seen: string[] = []
  for (let id = 0; id < 4; id++) seen.push((await ask(started, id)).text.slice(0, 1))
  expect(seen).toEqual(['{', '<', '{', '<'])
  expect(await started.squall.metric('squall_faults_injected_total')).toBe(2)
})

it('an edit and copies of the call reach the upstream that is redirected to', async () => {
  const got: string[] = []
  const app: RequestListener = (req, res) => {
    let body = ''
    req.setEncoding('utf8').on('data', (part: string) => (body += part))
    req.on('end', () => {
      got.push(body)
      respondingFine(req, res)
    })
  }
  const edit = 'rewrite: { in: arguments, set: { /city: Oslo } }'
  const rules = rule('percent: 100', `${edit}, amplify: { copies: 2 }`)
  const started = await start(rules, starlette, app)
  const call = callMessage(1, 'probe') as { params: { arguments: object } }
  call.params.arguments = { city: 'Rome' }
  expect((await ask(started, 1, call)).status).toBe(200)
  await expect.poll(() => got.length).toBe(3)
  expect(got.every((body) => body.includes('Oslo') && !body.includes('Rome'))).toBe(true)
  expect(await started.squall.metric('squall_faults_injected_total')).toBe(2)
  expect(await started.squall.metric('squall_calls_total')).toBe(1)
})

const respondingFine: RequestListener = (_, res) => {
  res.setHeader('content-type', 'application/json')
  res.end('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}')
}

it('a call of a batch that a fault answers is answered once, the others by the upstream', async () => {
  const app: RequestListener = (req, res) => {
    let body = ''
    req.setEncoding('utf8').on('data', (part: string) => (body += part))
    req.on('end', () => {
      const messages = JSON.parse(body) as { id: number }[]
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify(messages.map(({ id }) => ({ jsonrpc: '2.0', id, result: {} }))))
    })
  }
  const started = await start(
    rule('every: 2', 'abort: { rpcError: { code: -32000 } }'),
    starlette,
    app,
  )
  const { text } = await ask(
    started,
    1,
    [1, 2, 3].map((id) => callMessage(id, 'probe')),
  )
  const responses = JSON.parse(text) as { id: number; error?: object }[]
  expect(responses.filter(({ error }) => error !== undefined).map(({ id }) => id)).toEqual([2])
  expect(responses.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual([1, 2, 3])
  expect(await started.squall.metric('squall_calls_total')).toBe(3)
  expect(await started.squall.metric('squall_faults_injected_total')).toBe(1)
})

describe('rules about HTTP', () => {
  it.each(['/mcp*', '*'])('with the path %s sample a redirected exchange once', async (path) => {
    const started = await start(rule('every: 2', ABORT, `{ http: { path: '${path}' } }`))
    expect(await statuses(started, 4)).toEqual([200, 503, 200, 503])
    expect(await started.squall.metric('squall_rule_matches_total')).toBe(4)
  })

  it('with the path behind the redirect act there', async () => {
    const started = await start(rule('every: 2', ABORT, "{ http: { path: '/mcp/' } }"))
    expect(await statuses(started, 4)).toEqual([200, 503, 200, 503])
    expect(await started.squall.metric('squall_calls_total')).toBe(4)
  })

  it('about the status see the redirect and what it leads to', async () => {
    const at = 'at: response'
    const started = await start(
      rule('every: 2', `abort: { status: 503, ${at} }`, '{ http: { status: 2xx } }'),
    )
    expect(await statuses(started, 4)).toEqual([200, 503, 200, 503])
    expect(await started.squall.metric('squall_calls_total')).toBe(4)
  })
})

it('a redirect to another host that comes back here is one call, too', async () => {
  const started = await start(rule('every: 2', ABORT), ways[4]![1])
  const seen: number[] = []
  for (let id = 0; id < 4; id++) {
    const body = JSON.stringify(callMessage(id, 'probe'))
    const post = { method: 'POST', headers: JSON_TYPE, body, redirect: 'manual' } as const
    const first = await fetch(`http://127.0.0.1:${started.squall.port}/mcp`, post)
    await first.arrayBuffer()
    const last =
      first.status === 307
        ? await fetch(`http://127.0.0.1:${started.squall.port}/mcp/`, post)
        : first
    seen.push(last.status)
  }
  expect(seen).toEqual([200, 503, 200, 503])
  expect(await started.squall.metric('squall_calls_total')).toBe(4)
})
