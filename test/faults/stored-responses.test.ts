/**
 * `replay` and `catalog: { stale: true }` gave one user's data to another where users differ by a
 * cookie or an API key and there is no session: the key of what is kept was session and
 * `Authorization` alone. It is everything now that distinguishes callers. Where nothing does, the
 * faults do nothing and say so. What the server forbids to keep is not kept.
 */
import type { RequestListener } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { call, callMessage, type RuledSidecar, startSidecar } from '../support/wire.ts'
import { accepted } from '../rules/rules-text.ts'

const running: RuledSidecar[] = []
afterEach(async () => {
  for (const each of running.splice(0)) await each.close()
})

type Headers = Readonly<Record<string, string>>

const REPLAY = 'match: { tool: "*" }, faults: [replay: { BY }]'
const STALE = 'match: { method: tools/list }, faults: [catalog: { stale: true, BY }]'
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

/** Says how many requests there were: no response is like another. */
function counting(headers: Headers): RequestListener {
  let count = 0
  return (req, res) => {
    req.resume().on('end', () => {
      count++
      const result = {
        content: [{ type: 'text', text: `${count}` }],
        tools: [{ name: `${count}` }],
      }
      res.writeHead(200, { 'content-type': 'application/json', ...headers })
      res.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
    })
  }
}

/** Calls one after another, as callers with these headers at these paths; the number each got. */
async function numbers(
  rule: string,
  callers: readonly (readonly [Headers, string?])[],
  responded: Headers = {},
): Promise<readonly string[]> {
  const { rules } = accepted(`rules: [{ name: kept, ${rule} }]`)
  const sidecar = await startSidecar({ rules, upstream: counting(responded) })
  running.push(sidecar)
  const got: string[] = []
  for (const [headers, path = '/mcp'] of callers) {
    const message = rule.includes('stale') ? LIST : callMessage(1)
    const { text } = await call({ port: sidecar.port, host: '127.0.0.1', path, headers }, message)
    got.push((JSON.parse(text) as { result: { tools: [{ name: string }] } }).result.tools[0].name)
  }
  return got
}

describe.each([
  ['replay', REPLAY],
  ['catalog', STALE],
])('%s', (_, form) => {
  const rule = form.replace(', BY', '').replace(' BY ', '')
  const all = form.replace('BY', 'by: all')

  it.each([
    ['a cookie', { cookie: 'sid=a' }, { cookie: 'sid=b' }],
    ['an API key', { 'x-api-key': 'a' }, { 'x-api-key': 'b' }],
    [
      'an API key of another name',
      { 'ocp-apim-subscription-key': 'a' },
      { 'ocp-apim-subscription-key': 'b' },
    ],
    ['a token', { 'x-auth-token': 'a' }, { 'x-auth-token': 'b' }],
    [
      'a certificate',
      { 'x-forwarded-client-cert': 'Hash=a' },
      { 'x-forwarded-client-cert': 'Hash=b' },
    ],
    ['a user that a proxy names', { 'x-forwarded-user': 'a' }, { 'x-forwarded-user': 'b' }],
    [
      'Proxy-Authorization',
      { 'proxy-authorization': 'Basic a' },
      { 'proxy-authorization': 'Basic b' },
    ],
    [
      'a header beside the same token',
      { authorization: 'x', 'x-whoami': 'a' },
      { authorization: 'x', 'x-whoami': 'b' },
    ],
    [
      'a host beside the same token',
      { authorization: 'x', host: 'a' },
      { authorization: 'x', host: 'b' },
    ],
    [
      'a session beside the same token',
      { authorization: 'x', 'mcp-session-id': 'a' },
      { authorization: 'x', 'mcp-session-id': 'b' },
    ],
  ])('gives nobody what a caller got who differs by %s', async (_by, one, other) => {
    expect(await numbers(rule, [[one], [other], [one]])).toEqual(['1', '2', '1'])
  })

  it('distinguishes callers by a key in the target', async () => {
    const callers = [
      [{}, '/mcp?api_key=a'],
      [{}, '/mcp?api_key=b'],
      [{}, '/mcp?api_key=a'],
    ] as const
    expect(await numbers(rule, callers)).toEqual(['1', '2', '1'])
  })

  it('takes calls of one caller for those of one, whatever else differs', async () => {
    const own = { cookie: 'sid=a', 'x-request-id': '1', traceparent: 'x', 'user-agent': 'x' }
    const same = { cookie: 'sid=a', 'x-request-id': '2', accept: 'application/json' }
    expect(await numbers(rule, [[own], [same]])).toEqual(['1', '1'])
  })

  it('does nothing where nothing says who the caller is, and says so', async () => {
    expect(await numbers(rule, [[{ 'user-agent': 'a' }], [{ 'user-agent': 'a' }]])).toEqual([
      '1',
      '2',
    ])
    expect(running[0]!.counts()).toMatchObject({ not_applicable: 2 })
    const reasons = running[0]!.notApplicable.map(({ reason }) => reason)
    expect(reasons).toEqual(['no_caller', 'no_caller'])
  })

  it('keeps nothing that the server forbids to keep', async () => {
    for (const control of ['no-store', 'private, No-Store', 'max-age=0,no-store']) {
      const [first, second] = await numbers(all, [[{}], [{}]], { 'cache-control': control })
      expect([first, second]).toEqual(['1', '2'])
    }
    expect(await numbers(all, [[{}], [{}]], { vary: 'Accept, *' })).toEqual(['1', '2'])
    expect(running[0]!.counts()).toMatchObject({ not_applicable: 2 })
  })

  it('gives what is private to the same caller alone, also with `by: all`', async () => {
    const callers = [[{ cookie: 'a' }], [{ cookie: 'b' }], [{ cookie: 'a' }], [{}]] as const
    const head = { 'cache-control': 'max-age=60, Private="x"' }
    expect(await numbers(all, callers, head)).toEqual(['1', '2', '1', '4'])
    expect(await numbers(all, callers)).toEqual(
      ['1', '1', '1', '1'].map((n, i) => (form === REPLAY && i > 1 ? `${i}` : n)),
    )
  })

  it('takes the headers that `Vary` names for a part of who asks', async () => {
    const callers = [
      [{ 'accept-language': 'de' }],
      [{ 'accept-language': 'en' }],
      [{ 'accept-language': 'de' }],
    ] as const
    expect(await numbers(all, callers, { vary: 'Accept-Language' })).toEqual(['1', '2', '1'])
  })
})
