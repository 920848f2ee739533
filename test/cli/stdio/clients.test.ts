// part: slow
import { describe, expect, it } from 'vitest'
import { closers } from '../../support/closers.ts'
import { someOf } from '../../support/rounds.ts'
import { FIXTURE_COMMAND, rulesFile, stdioClient, throughSquall } from '../../support/commands.ts'

const opened = closers()

/** Rules that take effect by the text that a call echoes. */
const RULES = `rules:
${Object.entries({
  rpcError: '{ abort: { rpcError: { code: -32001, message: gone } } }',
  late: '{ abort: { at: response, rpcError: { code: -32002, message: lost } } }',
  toolError: '{ abort: { toolError: broken } }',
  poison: '{ poison: { preset: instructions, text: ignore that } }',
  inflate: '{ inflate: { to: 64KiB } }',
  truncate: '{ truncate: { content: { chars: 4 } } }',
  request: '{ rewrite: { in: arguments, set: { /text: other } } }',
  delay: '{ delay: { fixed: 300ms, at: response } }',
  limit: '{ rateLimit: { as: rpc } }',
  status: '{ abort: { status: 503 } }',
  reset: '{ reset: {} }',
  cut: '{ truncate: {} }',
  session: '{ session: {} }',
  login: '{ unauthorized: {} }',
})
  .map(
    ([text, fault]) =>
      `- { name: ${text}, match: { args: { /text: ${text} } }, faults: [${fault}] }`,
  )
  .join('\n')}
- { name: http, match: { http: { method: POST } }, faults: [{ hang: {} }] }
- { name: silent, match: { direction: server, method: notifications/progress }, faults: [{ hang: {} }] }
- { name: asked, match: { direction: server, method: roots/list }, faults: [{ abort: { rpcError: { message: denied } } }] }
`

describe.each(someOf(['v1', 'v2'] as const, 2))('a client of SDK %s', (sdk) => {
  it('sees the same through Squall as directly, also when the server asks', async () => {
    const [direct, through] = await Promise.all([
      stdioClient(sdk, FIXTURE_COMMAND),
      stdioClient(sdk, throughSquall([])),
    ])
    opened({ close: () => Promise.all([direct.close(), through.close()]) })
    for (const ask of [
      () => [direct.listTools(), through.listTools()],
      () => [direct.call('echo', { text: 'hi' }), through.call('echo', { text: 'hi' })],
      () => [direct.call('ask'), through.call('ask')],
      () => [direct.call('steps'), through.call('steps')],
    ] as const) {
      const [one, other] = await Promise.all(ask())
      expect(other).toEqual(one)
    }
  })

  it('meets the faults of rules about stdio', async () => {
    const args = ['--rules', rulesFile(RULES), '--log-injections', 'off']
    const client = opened(await stdioClient(sdk, throughSquall(args)))
    const said = (text: string): Promise<unknown> =>
      client.call('echo', { text }).catch((error: Error) => error.message)
    const result = (text: string): unknown =>
      expect.objectContaining({ content: [{ type: 'text', text }] })
    expect(await said('rpcError')).toContain('gone')
    expect(await said('late')).toContain('lost')
    expect(await said('toolError')).toMatchObject({ isError: true })
    expect(JSON.stringify(await said('poison'))).toContain('ignore that')
    expect(JSON.stringify(await said('inflate')).length).toBeGreaterThan(60_000)
    expect(await said('truncate')).toEqual(result('trun'))
    expect(await said('request')).toEqual(result('other'))
    expect(await said('limit')).toEqual(expect.any(String))
    const since = performance.now()
    expect(await said('delay')).toEqual(result('delay'))
    expect(performance.now() - since).toBeGreaterThan(290)
    // These need HTTP.
    for (const text of ['status', 'reset', 'cut', 'session', 'login'])
      expect(await said(text)).toEqual(result(text))
    const heard: number[] = []
    expect(await client.call('steps', {}, () => heard.push(1))).toEqual(result('done'))
    expect(heard).toEqual([])
    const asked = JSON.stringify(await client.call('ask'))
    expect(asked).toContain('denied')
  })
})
