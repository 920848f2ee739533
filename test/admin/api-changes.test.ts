import { afterEach, describe, expect, it } from 'vitest'
import { type Api, type ApiSetup, AT, RULES, TOKEN } from './api-setup.ts'
import { startSquall } from '../support/commands.ts'

const open: Api[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((api) => api.close()))
})

async function start(setup: ApiSetup = {}): Promise<Api> {
  const api = await startSquall({ admin: setup })
  open.push(api)
  return api
}

describe('disarming and arming', () => {
  it('works with the token, and is logged without it', async () => {
    const { post: send, arming, take, call, rules, log, get } = await start()
    take(RULES)
    const off = await send('/api/disarm', '{"reason":"on call asked"}')
    expect(off.status).toBe(200)
    expect(await off.json()).toEqual({
      armed: false,
      reasons: [{ by: 'operator', reason: 'on call asked', at: AT }],
      changed: true,
    })
    call()
    expect(rules.states.totals.all()[0]!.counts).toMatchObject({ matched: 1, disarmed: 1 })
    expect(await (await send('/api/disarm')).json()).toMatchObject({ armed: false, changed: false })
    expect(arming.reasons).toHaveLength(1)
    const on = await send('/api/arm')
    expect(on.status).toBe(200)
    expect(await on.json()).toEqual({ armed: true, reasons: [], changed: true })
    expect(await (await send('/api/arm')).json()).toMatchObject({ armed: true, changed: false })
    expect(await get('/api/state')).toMatchObject({ armed: true })
    expect(log.map(({ level, message }) => `${level} ${message}`)).toEqual([
      'info disarmed on the admin port',
      'info disarmed on the admin port',
      'info armed on the admin port',
      'info armed on the admin port',
    ])
    expect(log[0]!.fields).toMatchObject({ reason: 'on call asked', from: '127.0.0.1' })
    expect(JSON.stringify(log)).not.toContain(TOKEN)
  })

  it('lifts what the guard did', async () => {
    const { post: send, arming } = await start()
    arming.disarm('guard', 'errors')
    arming.disarm('operator', 'me too')
    expect(await (await send('/api/arm', '{}')).json()).toMatchObject({ armed: true })
    expect(arming.reasons).toEqual([])
  })

  it.each(['environment', 'stopped', 'draining'] as const)('does not lift %s', async (by) => {
    const { post: send, arming } = await start()
    arming.disarm(by, 'no')
    arming.disarm('operator', 'no')
    const response = await send('/api/arm')
    expect(response.status).toBe(409)
    expect(await response.json()).toEqual({
      error: expect.stringContaining('nothing was changed'),
      reasons: [{ by, reason: 'no', at: AT }],
    })
    expect(arming.reasons).toHaveLength(2)
  })

  it('does not overrule a file that says enabled: false', async () => {
    const { post: send, take } = await start()
    take(`enabled: false\n${RULES}`)
    const response = await send('/api/arm')
    expect(response.status).toBe(409)
    expect(await response.json()).toMatchObject({ reasons: [{ by: 'file' }] })
  })

  it('takes no reason that would spoil a log', async () => {
    const { post: send, arming } = await start()
    await send('/api/disarm', JSON.stringify({ reason: ' a\n\u001b[31m\u202eb ' }))
    expect(arming.reasons[0]!.reason).toBe('a\\u{a}\\u{1b}[31m\\u{202e}b')
  })
})

describe('who may change things', () => {
  const right = { authorization: `Bearer ${TOKEN}` }
  const tries: readonly (readonly [string, number, Record<string, string>])[] = [
    ['nobody without a token', 401, {}],
    ['nobody with another token', 401, { authorization: `Bearer ${TOKEN}x` }],
    ['nobody with a part of it', 401, { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
    ['nobody with an empty one', 401, { authorization: 'Bearer ' }],
    ['nobody by another scheme', 401, { authorization: `Basic ${TOKEN}` }],
    ['nobody with two tokens', 401, { authorization: `Bearer ${TOKEN} ${TOKEN}` }],
    ['no page of another origin', 403, { ...right, origin: 'https://evil.example' }],
    ['no page of another port', 403, { ...right, origin: 'http://127.0.0.1:1' }],
    ['no page of no origin', 403, { ...right, origin: 'null' }],
    ['whoever holds the token', 200, right],
    ['… in other letters for the scheme', 200, { authorization: `bearer   ${TOKEN}` }],
  ]
  it.each(tries)('%s', async (_, status, headers) => {
    const { url, arming, log } = await start()
    const response = await fetch(`${url}/api/disarm`, { method: 'POST', headers })
    expect(response.status).toBe(status)
    expect(arming.reasons).toHaveLength(status === 200 ? 1 : 0)
    expect(response.headers.get('www-authenticate')).toBe(
      status === 401 ? 'Bearer realm="squall admin"' : null,
    )
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(JSON.stringify(log) + (await response.text())).not.toContain(TOKEN)
  })

  it('pages of its own', async () => {
    const { url, post: send } = await start()
    expect((await send('/api/disarm', undefined, { origin: url })).status).toBe(200)
    const tls = url.replace('http:', 'https:')
    expect((await send('/api/disarm', undefined, { origin: tls })).status).toBe(200)
  })

  it('nobody where no token is set, with the reason', async () => {
    const { post: send, arming } = await start({ token: undefined })
    const response = await send('/api/disarm')
    expect(response.status).toBe(403)
    expect(await response.text()).toContain('SQUALL_ADMIN_TOKEN')
    expect(arming.reasons).toEqual([])
  })
})
