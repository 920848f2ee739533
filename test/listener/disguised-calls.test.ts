/**
 * A caller can write a call so that servers read it and Squall does not, or reads another one: a
 * key in another case (Go's decoders fold it), a key twice, another charset, a Content-Type that
 * only mentions JSON. Rules about HTTP then match calls of tools that `--deny-tools` keeps from
 * them, and rules about one tool match calls of another. What a server may read in another way is
 * not read: no rule about tools acts on it, and it counts as a call of any tool for what is denied.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RequestListener } from 'node:http'
import { DISGUISES, PLAIN_CALLS } from './disguises.ts'
import { sendDisguise } from './send-disguise.ts'
import { toolsRead } from './lenient-readers.ts'
import { metricOf } from '../support/wire.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

const TOOLS = `  - name: tools
    match: { tool: '*' }
    faults: [abort: { status: 503 }]
`
const HTTP = `  - name: http
    match: { http: { path: '*' } }
    faults: [abort: { status: 504 }]
`
const RESPONSE = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [{ text: 'fine' }] } })

/** A server that reads whatever any server reads, and says which tools were called. */
const lenient: RequestListener = (req, res) => {
  const parts: Buffer[] = []
  req.on('data', (part: Buffer) => parts.push(part))
  req.on('end', () => {
    const tools = [...toolsRead(req.rawHeaders, Buffer.concat(parts))]
    res.writeHead(200, { 'content-type': 'application/json', 'x-read': tools.join(' ') })
    res.end(RESPONSE)
  })
}

it('calls a denied tool in a session that a fault has ended', async () => {
  const ruled = await startSquall({
    rules: 'rules: [{ name: lost, match: { tool: get }, faults: [session: { expire: true }] }]',
    flags: ['--deny-tools', 'pay'],
    upstream: lenient,
  })
  const status = async (name: string): Promise<number> => {
    const params = { name, arguments: {} }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const headers = { 'content-type': 'application/json', 'mcp-session-id': 's1' }
    const response = await fetch(`http://127.0.0.1:${ruled.squall.port}/mcp`, {
      method: 'POST',
      headers,
      body,
    })
    await response.arrayBuffer()
    return response.status
  }
  expect([await status('get'), await status('pay'), await status('get')]).toEqual([404, 200, 404])
  await ruled.close()
})

describe('with a tool that is denied', () => {
  let ruled: RuledSquall
  beforeAll(async () => {
    ruled = await startSquall({
      rules: `rules:\n${TOOLS}${HTTP}`,
      flags: ['--deny-tools', 'pay,5'],
      upstream: lenient,
    })
  })
  afterAll(() => ruled.close())

  it.each(DISGUISES)('no rule acts on a call of it: $name', async (disguise) => {
    const { status, headers } = await sendDisguise(ruled.squall.port, disguise)
    expect(status).toBe(200)
    expect(`${String(headers['x-read'])} `).toMatch(/\b(pay|5) /)
  })

  it.each(PLAIN_CALLS)('no rule acts on a well-formed call of it: $name', async (call) => {
    expect((await sendDisguise(ruled.squall.port, call)).status).toBe(200)
  })

  it.each(['PAY', ' pay', 'ｐａｙ', 'pay\u0000'])(
    'nor one of %j, which may be it',
    async (name) => {
      expect(await ruled.text(name)).toBe('fine')
    },
  )
})

describe('without', () => {
  let ruled: RuledSquall
  beforeAll(async () => {
    ruled = await startSquall({ rules: `rules:\n${TOOLS}`, upstream: lenient })
  })
  afterAll(() => ruled.close())

  it.each(DISGUISES)('no rule about tools acts by mistake: $name', async (disguise) => {
    const { squall } = ruled
    const { reason } = disguise
    const counts = async (): Promise<readonly number[]> => {
      const text = await (await fetch(`${squall.admin}/metrics`)).text()
      return [
        metricOf(text, 'squall_calls_total'),
        metricOf(text, 'squall_unclassified_total'),
        metricOf(text, 'squall_unclassified_total', reason && { reason }),
      ]
    }
    const [calls = 0, all = 0, own = 0] = await counts()
    expect((await sendDisguise(squall.port, disguise)).status).toBe(200)
    const more = reason === undefined ? 0 : 1
    expect(await counts()).toEqual([calls, all + more, own + more])
  })

  it.each(PLAIN_CALLS)('a well-formed call is failed, however it looks: $name', async (call) => {
    expect((await sendDisguise(ruled.squall.port, call)).status).toBe(503)
  })
})
