import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { metricOf } from '../support/wire.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

/** Each tool gets the fault that its name describes. */
const FAULTS = {
  delayed: 'delay: { fixed: 1ms }',
  throttled: 'throttle: { rate: 1MiB }',
  repeated: 'amplify: { copies: 1 }',
  'rewritten response': 'rewrite: { set: { /n: 2 } }',
  'rewritten question': 'rewrite: { in: arguments, add: { /q: other } }',
  shortened: 'truncate: { content: { chars: 2 } }',
  replayed: 'replay: { by: all }',
  flipped: 'corrupt: { mode: bitflip }',
  'lost event': 'stream: { drop: notifications }',
  'event twice': 'stream: { duplicate: last }',
  'torn event': 'stream: { split: all, pause: 1ms }',
  'cut body': 'truncate: { after: { percent: 50 } }',
  'not JSON': 'corrupt: {}',
  failed: 'abort: { toolError: no }',
  rejected: 'abort: { status: 503 }',
} as const

const CHANGED = ['rewritten response', 'rewritten question', 'shortened', 'replayed', 'lost event']
// When a response arrives twice, the first copy ends the call as the upstream intended.
const UNCHANGED = ['delayed', 'throttled', 'repeated', 'torn event', 'event twice', 'untouched']
const FAILED = ['cut body', 'not JSON', 'failed', 'rejected']

const RULES = `rules:
${Object.entries(FAULTS)
  .map(
    ([tool, fault]) =>
      `  - { name: ${tool.replace(' ', '-')}, match: { tool: "${tool}" }, faults: [${fault}] }`,
  )
  .join('\n')}
  - name: list
    match: { method: tools/list }
    faults: [catalog: { add: [{ name: ghost }] }]
`

let ruled: RuledSquall

beforeAll(async () => {
  let responses = 0
  ruled = await startSquall({
    rules: RULES,
    upstream: (req, res) => {
      let body = ''
      req.setEncoding('utf8').on('data', (part: string) => (body += part))
      req.on('end', () => {
        const { id, params } = JSON.parse(body) as { id: number; params?: { name?: string } }
        const content = [{ type: 'text', text: `answer ${responses++} has a number` }]
        const answer = JSON.stringify({
          jsonrpc: '2.0',
          id,
          result: { content, structuredContent: { n: 1 }, tools: [] },
        })
        if (params?.name?.includes('event') !== true) {
          res.setHeader('content-type', 'application/json')
          res.end(answer)
          return
        }
        const note = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}'
        res.setHeader('content-type', 'text/event-stream')
        res.end(`data: ${note}\n\ndata: ${answer}\n\n`)
      })
    },
  })
  for (const tool of [...Object.keys(FAULTS), 'untouched']) {
    for (let i = 0; i < 3; i++) await ruled.ask(tool).catch(() => undefined)
  }
  await ruled.squall.reaches('squall_calls_total', {}, 3 * (Object.keys(FAULTS).length + 1))
})

afterAll(() => ruled.close())

function changed(tool: string): Promise<number> {
  return ruled.squall.metric('squall_calls_changed_total', { tool })
}

function ended(tool: string, outcome: string): Promise<number> {
  return ruled.squall.metric('squall_calls_total', { tool, outcome })
}

describe('a call that ends well', () => {
  it.each(CHANGED)('is counted as changed by a fault: %s', async (tool) => {
    // An earlier response comes again: the first call has none before it.
    expect(await changed(tool)).toBe(tool === 'replayed' ? 2 : 3)
    expect(await ended(tool, 'ok')).toBe(3)
  })

  it.each(UNCHANGED)('is not, where what it brings is what it was: %s', async (tool) => {
    expect(await ended(tool, 'ok')).toBe(3)
    expect(await changed(tool)).toBe(0)
    // The series is there all the same, so that the first increase is seen.
    const text = await (await fetch(`${ruled.squall.admin}/metrics`)).text()
    expect(text).toContain(`squall_calls_changed_total{tool="${tool}"} 0`)
  })

  it('is as often changed as it was well, where a flipped bit may be seen or not', async () => {
    expect(await changed('flipped')).toBe(await ended('flipped', 'ok'))
  })

  it('of another method is counted under no tool', async () => {
    const before = await changed('')
    const response = await fetch(`http://127.0.0.1:${ruled.squall.port}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    })
    expect(await response.text()).toContain('ghost')
    await ruled.squall.reaches('squall_calls_changed_total', { tool: '' }, before + 1)
  })
})

describe('a call that fails', () => {
  it.each(FAILED)('is an error, and not changed as well: %s', async (tool) => {
    expect(await ended(tool, 'ok')).toBe(0)
    expect(await changed(tool)).toBe(0)
    const text = await (await fetch(`${ruled.squall.admin}/metrics`)).text()
    expect(metricOf(text, 'squall_errors_total', { tool, origin: 'injected' })).toBe(3)
  })
})
