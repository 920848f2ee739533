import { afterEach, describe, expect, it } from 'vitest'
import type { RequestListener, ServerResponse } from 'node:http'
import { responding } from '../support/wire.ts'
import { eventually } from '../support/eventually.ts'
import { failing } from './rules-directory.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

const running: RuledSquall[] = []

afterEach(async () => {
  for (const each of running.splice(0)) await each.close()
})

async function start(
  rules: string | undefined,
  flags: readonly string[] = [],
  upstream?: RequestListener,
): Promise<RuledSquall> {
  const started = await startSquall({ rules, flags, upstream })
  running.push(started)
  return started
}

/** An upstream whose tool `broken` fails. */
const half: RequestListener = (req, res) => {
  const fine = responding('fine')
  if (req.headers['x-break'] === undefined) fine(req, res)
  else req.resume().on('end', () => void res.writeHead(500).end('broken'))
}

/** An upstream whose tool requests input from its client, and fails with the error that it gets. */
function insisting(): RequestListener {
  let calling: { readonly id: number; readonly res: ServerResponse } | undefined
  return (req, res) => {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      const message = JSON.parse(Buffer.concat(parts).toString()) as { id: number; error?: object }
      const say = (to: ServerResponse, said: object): void =>
        void to.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...said })}\n\n`)
      if (message.error === undefined) {
        calling = { id: message.id, res }
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        say(res, { id: 's1', method: 'elicitation/create', params: {} })
        return
      }
      res.writeHead(202).end()
      say(calling!.res, { id: calling!.id, result: { content: [], isError: true } })
      calling!.res.end()
    })
  }
}

const BROKEN = { 'x-break': '1' }
const GUARD = ['--guard-error-rate', '20%', '--guard-window', '30s', '--guard-min-calls', '10']

describe('the guard', () => {
  it('disarms when real errors pass the threshold, and stays so until the rules change', async () => {
    const { text, squall, mounted } = await start(failing('one'), GUARD, half)
    expect(await text()).toBe('one')
    for (let i = 0; i < 8; i++) await text('plain')
    for (let i = 0; i < 4; i++) expect(await text('plain', BROKEN)).toBe('500')
    expect(await squall.metric('squall_armed')).toBe(0)
    expect(await squall.metric('squall_guard_trips_total', { reason: 'error_rate' })).toBe(1)
    const line = await squall.logged('the guard disarmed all rules')
    expect(line['reason']).toContain('had real errors')
    for (let i = 0; i < 50; i++) expect(await text()).toBe('fine')
    expect(await squall.metric('squall_armed')).toBe(0)
    await mounted.swap(failing('two'))
    await eventually(async () => ((await text()) === 'two' ? undefined : 'the edit has not armed'))
    expect(await squall.metric('squall_armed')).toBe(1)
  })

  it('is not tripped by injected errors, however many', async () => {
    const { text, squall } = await start(failing('one'), GUARD)
    for (let i = 0; i < 80; i++) expect(await text()).toBe('one')
    expect(await squall.metric('squall_armed')).toBe(1)
  })

  it('is not tripped by calls whose questions to the client were declined', async () => {
    const declines = `rules:
  - name: user-declines
    match: { direction: server, method: elicitation/create }
    faults: [abort: { rpcError: { code: -32000, message: declined } }]
`
    const { ask, squall } = await start(declines, GUARD, insisting())
    for (let i = 0; i < 12; i++) expect((await ask('book')).text).toContain('"isError":true')
    expect(await squall.metric('squall_armed')).toBe(1)
    const injected = { tool: 'book', kind: 'tool_error', origin: 'injected' }
    expect(await squall.metric('squall_errors_total', injected)).toBe(12)
  })

  it('is tripped by an upstream that is gone', async () => {
    const { text, app, squall } = await start(failing('one'), GUARD)
    await app.close()
    for (let i = 0; i < 10; i++) expect(await text('plain')).toBe('502')
    expect(await squall.metric('squall_armed')).toBe(0)
  })

  it('frees at once what a fault holds back', async () => {
    const slow =
      'rules:\n  - name: slow\n    match: { tool: probe }\n    faults: [delay: { fixed: 1h }]\n'
    const { text, squall } = await start(slow, GUARD, half)
    const waiting = text()
    await squall.reaches('squall_active_faults', { rule: 'slow' }, 1)
    for (let i = 0; i < 10; i++) await text('plain', BROKEN)
    expect(await waiting).toBe('fine')
  })
})

describe('production', () => {
  it.each(['production', 'Prod'])('named %s never arms', async (name) => {
    const { text, squall, mounted } = await start(failing('one'), ['--environment', name])
    expect(await text()).toBe('fine')
    expect(await squall.metric('squall_armed')).toBe(0)
    expect(await squall.metric('squall_rule_evaluations_total', { result: 'disarmed' })).toBe(1)
    await mounted.swap(`enabled: true\n${failing('two')}`)
    await eventually(() =>
      squall.running.rules!.current?.generation === 2 ? undefined : 'the edit was not seen',
    )
    expect(await text()).toBe('fine')
  })

  it('arms where that is allowed', async () => {
    const flags = ['--environment', 'production', '--allow-production']
    const { text } = await start(failing('one'), flags)
    expect(await text()).toBe('one')
  })
})

describe('limits', () => {
  it('that shadow everything let nothing happen and count what would', async () => {
    const { text, squall } = await start(failing('one'), ['--dry-run'])
    expect(await text()).toBe('fine')
    expect(await squall.metric('squall_rule_evaluations_total', { result: 'dry_run' })).toBe(1)
    expect(await squall.metric('squall_faults_injected_total')).toBe(0)
  })

  it('keep the tools that are denied, also from rules about HTTP', async () => {
    const rules = `rules:\n  - name: all\n    match: { tool: '*' }\n    faults: [abort: { status: 503 }]\n  - name: http\n    match: { http: { path: '*' } }\n    faults: [abort: { status: 504 }]\n`
    const { text, squall } = await start(rules, ['--deny-tools', 'pay_*'])
    expect(await text('pay_invoice')).toBe('fine')
    expect(await text('other')).toBe('504')
    expect(await squall.metric('squall_rule_evaluations_total', { result: 'forbidden' })).toBe(2)
  })

  it('keep faults that are not allowed', async () => {
    const { text, squall } = await start(failing('one'), ['--allow-faults', 'delay'])
    expect(await text()).toBe('fine')
    expect(await squall.metric('squall_rule_evaluations_total', { result: 'forbidden' })).toBe(1)
  })
})

describe('callers', () => {
  const ABORT = { 'x-squall-abort': '503' }

  it('ask for faults in vain where that is not allowed', async () => {
    const { text } = await start(undefined)
    expect(await text('plain', ABORT)).toBe('fine')
  })

  it('get the faults that they ask for where it is', async () => {
    const { text, ask, squall } = await start(undefined, ['--header-faults'])
    expect(await text('plain', ABORT)).toBe('503')
    expect(await text('plain', { 'x-envoy-fault-abort-request': '504' })).toBe('504')
    expect(await text('plain')).toBe('fine')
    const late = await ask('plain', { 'x-squall-delay': '30ms' })
    expect(late.headers['x-squall-fault']).toBe('header-faults/delay')
    expect(await text('plain', { 'x-squall-delay': 'soon' })).toBe('fine')
    expect(await squall.metric('squall_header_faults_ignored_total')).toBe(1)
    const labels = { rule: 'header-faults', fault: 'abort' }
    expect(await squall.metric('squall_faults_injected_total', labels)).toBe(2)
  })
})
