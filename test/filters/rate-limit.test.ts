import { describe, expect, it } from 'vitest'
import type { Verdict } from '../../src/filters/fault.ts'
import { rateLimit } from '../../src/filters/rate-limit.ts'
import { Context, TOOL_CALL } from './context.ts'
import { findings, parameters } from './fault-text.ts'

type Config = Parameters<typeof rateLimit.create>[0]
type Options = NonNullable<ConstructorParameters<typeof Context>[0]>

const BASE: Config = {
  retryAfter: 1000,
  retryAfterAs: 'seconds',
  by: 'all',
  as: 'http',
  message: 'Too many requests',
}

/** The verdicts on calls one after another, each at its time; `ok` for those that pass. */
function asked(config: Partial<Config>, calls: readonly (Options & { time?: number })[]) {
  const fault = rateLimit.create({ ...BASE, ...config })
  const first = new Context()
  return calls.map((options) => {
    const ctx = new Context({ after: first, ...options })
    ctx.time = options.time ?? 0
    const verdict = fault.onRequest!(ctx) as Verdict
    if (verdict.kind === 'continue') return ctx.limited === 1 && ctx.effects === 0 ? 'ok' : 'idle'
    expect([ctx.effects, ctx.limited]).toEqual([1, 0])
    if (verdict.kind !== 'respond' || verdict.reply.kind !== 'http') return verdict
    expect(verdict.reply.status).toBe(429)
    return verdict.reply.headers['Retry-After']
  })
}

describe('rateLimit', () => {
  it('turns every call away, and says when to come back', async () => {
    const ctx = new Context()
    expect(await rateLimit.create(BASE).onRequest!(ctx)).toEqual({
      kind: 'respond',
      reply: {
        kind: 'http',
        status: 429,
        body: '{"error":"too_many_requests","message":"Too many requests"}',
        headers: { 'Retry-After': '1', 'Content-Type': 'application/json' },
      },
    })
    expect(asked({ retryAfter: 1500 }, [{}, { call: undefined }])).toEqual(['2', '2'])
  })

  it('says it as a date, in whole seconds that are not too early', () => {
    const [date] = asked({ retryAfter: 1500, retryAfterAs: 'date' }, [{ time: 1_000_000_000_001 }])
    expect(date).toBe('Sun, 09 Sep 2001 01:46:42 GMT')
  })

  it('lets through what is within the limit, and shows the rest when the next one is', () => {
    const limit = { calls: 1, per: 10_000, burst: 2 }
    const times = [0, 0, 0, 100, 9999, 10_000, 10_000].map((time) => ({ time }))
    expect(asked({ limit }, times)).toEqual(['ok', 'ok', '10', '10', '1', 'ok', '10'])
  })

  it('allows as many at once as in the time, by default', () => {
    const limit = { calls: 2, per: 1000 }
    expect(asked({ limit }, [{}, {}, {}])).toEqual(['ok', 'ok', '1'])
  })

  it.each<[Config['by'], Options, Options]>([
    ['session', { session: 'a' }, { session: 'b' }],
    ['client', { client: { name: 'a', version: '' } }, { client: { name: 'b', version: '' } }],
    ['tool', {}, { call: { ...TOOL_CALL, name: 'other' } }],
    ['tool', {}, { call: { ...TOOL_CALL, method: 'prompts/get' } }],
    [{ header: 'X-User' }, { headers: { 'x-user': 'a' } }, { headers: { 'x-user': 'b' } }],
    [{ header: 'x-user' }, { headers: { 'x-user': 'a' } }, {}],
  ])('gives each %j a bucket of its own', (by, one, other) => {
    const limit = { calls: 1, per: 60_000 }
    expect(asked({ limit, by }, [one, other, one, other])).toEqual(['ok', 'ok', '60', '60'])
    expect(asked({ limit }, [one, other])).toEqual(['ok', '60'])
  })

  it('distinguishes long names by both ends, and keeps no more than those of them', () => {
    const limit = { calls: 1, per: 60_000 }
    const header = (value: string) => ({ headers: { x: value } })
    const long = 'x'.repeat(10_000)
    const values = [`${long}a`, `${long}b`, `${long}a`]
    const got = asked({ limit, by: { header: 'x' } }, values.map(header))
    expect(got).toEqual(['ok', 'ok', '60'])
  })

  it('forgets who was not heard of for longest beyond ten thousand', () => {
    const limit = { calls: 1, per: 60_000 }
    const sessions = Array.from({ length: 10_001 }, (_, index) => ({ session: `s${index}` }))
    const calls = [...sessions, sessions[1]!, sessions[10_000]!, sessions[0]!]
    const got = asked({ limit, by: 'session' }, calls)
    expect(new Set(got.slice(0, 10_001))).toEqual(new Set(['ok']))
    expect(got.slice(10_001)).toEqual(['60', '60', 'ok'])
  })

  it.each([
    ['2025-06-18', -32029],
    ['2026-07-28', 429],
  ])('answers in JSON-RPC as servers of %s do', (protocolVersion, code) => {
    const call = { ...TOOL_CALL, protocolVersion }
    expect(asked({ as: 'rpc', message: 'slow down' }, [{ call }])).toEqual([
      {
        kind: 'respond',
        reply: { kind: 'rpcError', code, message: 'slow down', data: { retryAfter: 1 } },
      },
    ])
  })

  it('has no response in JSON-RPC where there is no call, and takes no token for it', () => {
    const limit = { calls: 1, per: 1000 }
    expect(asked({ as: 'rpc', limit }, [{ call: undefined }, {}])).toEqual(['idle', 'ok'])
  })
})

describe('rateLimit in a file', () => {
  it.each([
    ['{}', BASE],
    ['{ retryAfter: 1m, retryAfterAs: date }', { retryAfter: 60_000, retryAfterAs: 'date' }],
    ['{ limit: { calls: 5, per: 1s } }', { limit: { calls: 5, per: 1000 } }],
    ['{ limit: { calls: 5, per: 1s, burst: 9 }, by: tool }', { by: 'tool' }],
    ['{ limit: { calls: 5, per: 1s }, by: { header: X } }', { by: { header: 'X' } }],
    ['{ as: rpc, message: no }', { as: 'rpc', message: 'no' }],
  ])('%s is read', (text, config) => {
    expect(parameters('rateLimit', text)).toMatchObject(config)
  })

  it.each([
    ['{ retryAfter: 5 }', '3:43 wrong_type .retryAfter'],
    ['{ retryAfterAs: minutes }', '3:45 invalid_value .retryAfterAs'],
    ['{ limit: { calls: 0, per: 1s } }', '3:47 out_of_range .limit.calls'],
    ['{ limit: { calls: 1 } }', '3:38 missing_key .limit'],
    ['{ limit: { calls: 1, per: 0s } }', '3:50 conflict .limit.per'],
    ['{ limit: { calls: 1, per: 1s, burst: 0 } }', '3:66 out_of_range .limit.burst'],
    ['{ by: session }', '3:31 conflict .by'],
    ['{ limit: { calls: 1, per: 1s }, by: ip }', '3:65 invalid_value .by'],
    ['{ limit: { calls: 1, per: 1s }, by: { header: "" } }', '3:75 invalid_value .by.header'],
    ['{ as: rpc, retryAfterAs: date }', '3:40 conflict .retryAfterAs'],
    ['{ as: grpc }', '3:35 invalid_value .as'],
    ['{ rate: 3 }', '3:31 unknown_key .rate'],
  ])('%s is refused', (text, place) => {
    expect(findings('rateLimit', text)).toEqual([place])
  })
})
