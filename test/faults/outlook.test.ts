import type { RequestListener } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Call, Transport } from '../../src/mcp/call.ts'
import type { MatchSpec } from '../../src/rules/file/match-spec.ts'
import { compileRules } from '../../src/rules/match/compile.ts'
import { explain } from '../../src/rules/explain/explain.ts'
import type { ResponseOutlook } from '../../src/rules/explain/fault-outlook.ts'
import type { ResponseKind } from '../../src/rules/explain/response-kind.ts'
import { rule } from '../rules/facts.ts'
import { RawClient } from '../support/raw-client.ts'
import type { RuleStage } from '../support/rules.ts'
import { startSidecar, type RunningSidecar } from '../support/sidecar.ts'
import { get, POLL, post, request } from '../accounting/stage.ts'
import { oneFault } from './one-fault.ts'
import { outlookCases, type OutlookCase } from './outlook-cases.ts'
import { PushApp, said } from './push-app.ts'
import { whenAsked } from './apps.ts'
import { rounds } from '../support/rounds.ts'

const NOTE = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 't' } }
const RESULT = {
  content: [{ type: 'text', text: 'a text of some length' }],
  structuredContent: { temperature: 20, humidity: 60 },
  tools: [
    { name: 'search_docs', inputSchema: { type: 'object', properties: {} } },
    { name: 'other', inputSchema: { type: 'object' } },
  ],
}
const resultOf = (id: unknown) => ({ jsonrpc: '2.0', id, result: RESULT })

/** Responds as the path says; no call gets a response before the test requests it. */
const listener: RequestListener = (req, res) => {
  whenAsked(req, (messages) => {
    const ids = messages.flatMap(({ id }) => (id === undefined ? [] : [id]))
    if (req.url?.startsWith('/events') === true) {
      res.setHeader('content-type', 'text/event-stream')
      if (req.url === '/events?note') res.write(said(NOTE))
      for (const id of ids) res.write(said(resultOf(id)))
      res.end()
      return
    }
    res.setHeader('content-type', ids.length > 0 ? 'application/json' : 'text/plain')
    const all = ids.map(resultOf)
    res.end(ids.length === 0 ? 'a page' : JSON.stringify(ids.length === 1 ? all[0] : all))
  })
}

let squall: RunningSidecar
let pushed: PushApp
const clients: RawClient[] = []
beforeAll(async () => {
  squall = await startSidecar({ upstream: listener, rules: [] })
  pushed = await PushApp.open([])
})
afterAll(async () => {
  for (const client of clients) client.close()
  await squall.close()
  await pushed.close()
})

/** One way to meet a fault: what explain says of it, and what is sent. */
interface Setting {
  readonly on: ResponseKind
  readonly http?: true
  readonly transport: Transport
  readonly batched?: true
  /** The path of the request; a stream is at `/events`. */
  readonly target: string
  readonly get?: true
}

const ALL_SETTINGS: readonly Setting[] = [
  { on: 'json', transport: 'streamable-http', target: '/json' },
  { on: 'sse', transport: 'streamable-http', target: '/events' },
  { on: 'sse', transport: 'streamable-http', target: '/events?note' },
  { on: 'http+sse', transport: 'http+sse', target: '' },
  { on: 'batch', transport: 'streamable-http', target: '/json', batched: true },
  { on: 'batch-sse', transport: 'streamable-http', target: '/events', batched: true },
  { on: 'http', http: true, transport: 'streamable-http', target: '/json' },
  { on: 'http', http: true, transport: 'streamable-http', target: '/json', get: true },
  { on: 'http-sse', http: true, transport: 'streamable-http', target: '/events' },
  { on: 'http-sse', http: true, transport: 'streamable-http', target: '/events?note', get: true },
]

/**
 * A stream with a notification before its response is one more setting where there are many rounds.
 */
const SETTINGS = ALL_SETTINGS.filter(
  ({ target }) => rounds(1, 2) === 2 || !target.endsWith('?note'),
)

let count = 0

/** Sends what the setting says, and responds where the upstream does not. */
async function meet(setting: Setting, of: OutlookCase): Promise<RuleStage> {
  const params = { ...of.params, _meta: { progressToken: 't' } }
  const call = request(1, of.method, params)
  const id = `s${count++}`
  const lines = of.session === undefined ? '' : `Mcp-Session-Id: ${of.session}-${id}\r\n`
  if (setting.transport === 'http+sse') {
    const at = pushed.streams.length
    clients.push(await pushed.listen(id))
    const { requests } = pushed.stage.app
    const before = requests.length
    const client = await pushed.stage.send(post(call, '', `/message?sessionId=${id}`))
    clients.push(client)
    const { faults } = pushed
    await expect.poll(() => requests.length > before || faults.injected.length > 0, POLL).toBe(true)
    // A fault that has responded may have ended the stream.
    const { socket } = pushed.streams[at]!
    if (socket.writable) pushed.say(said(NOTE) + said(resultOf(1)), at)
    return faults
  }
  const client = await RawClient.connect(squall.port)
  clients.push(client)
  const other = request(2, 'tools/call', { name: 'other' })
  const bytes =
    setting.get === true
      ? get(setting.target, lines)
      : post(setting.batched === true ? [call, other] : call, lines, setting.target)
  await client.send(bytes, setting.get === true ? 'GET' : 'POST')
  return squall.faults!
}

const CALL: Call = {
  id: 1,
  method: 'tools/call',
  name: 'echo',
  params: {},
  transport: 'streamable-http',
  protocolVersion: undefined,
  progressToken: undefined,
}
const HTTP = { method: 'POST', path: '/json' }

function foretold(setting: Setting, of: OutlookCase, match: MatchSpec): ResponseOutlook {
  const { transport, http, target } = setting
  const name = of.method === 'tools/call' ? 'echo' : undefined
  const { method, params } = of
  const call: Call = { ...CALL, method, name, params, transport, progressToken: 't' }
  const facts = {
    headers: [],
    session: of.session,
    client: undefined,
    http: { method: setting.get === true ? 'GET' : 'POST', path: target.split('?')[0]! },
    ...(setting.get === true ? {} : { call }),
  }
  const set = compileRules({ rules: [{ ...rule({ match }), faults: [of.use] }] })
  const { responses } = explain(set, facts, 0, undefined, setting.batched).rules[0]!.faults[0]!
  const outlook = responses.find(({ on }) => on === setting.on)!
  expect(outlook.here).toBe(true)
  expect(http === true).toBe(outlook.on.startsWith('http') && outlook.on !== 'http+sse')
  return outlook
}

describe.each(SETTINGS)('what is said of $on at $target', (setting) => {
  // Each case meets one setting in three where there are few rounds.
  const turn = SETTINGS.indexOf(setting)
  const cases = outlookCases().filter((_, index) => (index + turn) % rounds(3, 1) === 0)
  test.each(cases.map((of) => ({ ...of })))('$text is what happens', async (of) => {
    const match: MatchSpec =
      setting.http === true
        ? { http: { path: '*' } }
        : of.method === 'tools/call'
          ? { tool: ['echo'] }
          : { method: [of.method] }
    const told = foretold(setting, of, match)
    const stage = setting.transport === 'http+sse' ? pushed.faults : squall.faults!
    for (const list of [stage.injected, stage.notApplicable, stage.broken]) list.length = 0
    stage.take([{ ...rule({ match, name: `r${count}` }), faults: [of.use] }])
    await meet(setting, of)
    const ended = (): number => {
      const { injected, within_limit, not_applicable, not_reached } = stage.counts()
      return injected + within_limit + not_applicable + not_reached
    }
    await expect.poll(() => stage.injected.length + ended(), POLL).toBeGreaterThan(0)
    expect(stage.broken).toEqual([])
    const happened = stage.injected.length > 0 ? 'yes' : 'no'
    const reason = stage.notApplicable[0]?.reason
    const about = { happened, reason, counts: stage.counts() }
    // A fault that only changes the response does not act where there is none.
    const why = reason ?? (stage.counts().not_reached > 0 ? 'nothing_to_act_on' : undefined)
    if (told.acts === 'yes') expect({ ...about, told }).toMatchObject({ happened: 'yes' })
    else if (told.acts === 'depends') {
      const isMissing = why === 'nothing_to_act_on' || why === 'headers_sent'
      expect(happened === 'yes' || stage.counts().within_limit === 1 || isMissing).toBe(true)
    } else {
      expect({ ...about, told }).toMatchObject({ happened: 'no' })
      // Within its limit, a rate limit does not get as far as to find out.
      if (stage.counts().within_limit === 0) expect(why).toBe(told.reason)
      else expect(of.use.fault).toBe('rateLimit')
    }
  })
})

test.each(SETTINGS.slice(0, 2))('what is said of faults behind others is so on $on', async (of) => {
  const [early, late, ends] = ['at: request', 'at: response', ''].map((at) =>
    oneFault(at === '' ? 'abort: { toolError: lost }' : `delay: { fixed: 1ms, ${at} }`),
  )
  const chain = [early!, late!, ends!, early!].map((each, i) => ({ ...each, name: `chain-${i}` }))
  const facts = { headers: [], session: undefined, client: undefined, http: HTTP, call: CALL }
  const told = explain(compileRules({ rules: chain }), facts, 0).rules.map(
    ({ faults }) => faults[0]!.responses.find(({ on }) => on === of.on)!.acts,
  )
  const { faults } = squall
  faults!.take(chain)
  await meet(of, outlookCases()[0]!)
  const total = (i: number) => faults!.counts(i).injected + faults!.counts(i).not_reached
  await expect.poll(() => chain.map((_, i) => total(i)), POLL).toEqual([1, 1, 1, 1])
  expect(chain.map((_, i) => (faults!.counts(i).injected > 0 ? 'yes' : 'no'))).toEqual(told)
  expect(told).toEqual(['yes', 'no', 'yes', 'no'])
})
