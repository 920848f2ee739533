import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import type { Errors } from '../../src/admin/contract/api.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { call } from '../support/wire.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

const opened = closers()

const RULES = `rules:
  - { name: broken, match: { tool: injected }, faults: [abort: { toolError: connection to db-7 lost }] }
  - { name: down, match: { tool: refused }, faults: [abort: { status: 503 }] }
  - { name: slow, match: { tool: rpc }, faults: [delay: { fixed: 1ms }] }
`

/** Fails each tool in the way of its name. */
const app: RequestListener = (req, res) => {
  const parts: Buffer[] = []
  req.on('data', (part: Buffer) => parts.push(part))
  req.on('end', () => {
    const { id, params } = JSON.parse(Buffer.concat(parts).toString()) as {
      id: number
      params: { name: string; arguments: { say?: string } }
    }
    const say = params.arguments.say ?? 'the disk is full'
    const send = (rest: object): void =>
      void res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, ...rest }))
    const content = [{ type: 'text', text: say }]
    switch (params.name) {
      case 'tool':
        return send({ result: { content, isError: true } })
      case 'rpc':
        return send({ error: { code: -32603, message: say } })
      case 'http':
        return void res.writeHead(502, { 'content-type': 'text/html' }).end(`<title>${say}</title>`)
      case 'problem':
        return void res.writeHead(500).end(JSON.stringify({ status: 500, detail: say }))
      case 'reset':
        return void res.socket!.resetAndDestroy()
      case 'stream':
        return void res
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(
            `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content, isError: true } })}\n\n`,
          )
      default:
        return send({ result: { content } })
    }
  })
}

async function start(flags: readonly string[] = []): Promise<RuledSquall> {
  return opened(await startSquall({ rules: RULES, upstream: app, flags }))
}

function ask({ squall }: RuledSquall, name: string, say?: string, headers = {}): Promise<unknown> {
  const params = { name, arguments: { say } }
  const place = { port: squall.port, host: '127.0.0.1', headers }
  return call(place, { jsonrpc: '2.0', id: 7, method: 'tools/call', params }).catch(() => undefined)
}

/** The errors once so many were counted: a client can see the end of a call before. */
async function errorsOf({ squall }: RuledSquall, total: number): Promise<Errors> {
  let errors: Errors | undefined
  await eventually(async () => {
    errors = (await (await fetch(`${squall.admin}/api/errors`)).json()) as Errors
    return errors.total >= total ? undefined : `there are ${errors.total} errors, not ${total}`
  })
  return errors!
}

it('shows what each kind of real and injected error says, and nothing of calls that end well', async () => {
  const squall = await start()
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const headers = { 'mcp-session-id': 's-1', traceparent: `00-${trace}-00f067aa0ba902b7-01` }
  for (const name of ['tool', 'rpc', 'http', 'problem', 'reset', 'stream', 'injected', 'refused']) {
    await ask(squall, name, undefined, headers)
  }
  await ask(squall, 'fine', 'all is well')
  const { total, dropped, errors } = await errorsOf(squall, 8)
  expect([total, dropped]).toEqual([8, 0])
  const shown = errors.map(({ tool, outcome, origin, status, code, rule, fault, samples }) => [
    tool,
    outcome,
    origin,
    status ?? code,
    rule === undefined ? undefined : `${rule}/${fault}`,
    samples[0]!.message,
  ])
  expect(shown.toSorted(([a = ''], [b = '']) => (String(a) < String(b) ? -1 : 1))).toEqual([
    ['http', 'http_error', 'real', 502, undefined, 'the disk is full'],
    ['injected', 'tool_error', 'injected', undefined, 'broken/abort', 'connection to db-7 lost'],
    ['problem', 'http_error', 'real', 500, undefined, 'the disk is full'],
    ['refused', 'http_error', 'injected', 503, 'down/abort', expect.stringMatching(/\w/)],
    ['reset', 'reset', 'real', undefined, undefined, 'the upstream reset the connection'],
    ['rpc', 'rpc_error', 'real', -32603, undefined, 'the disk is full'],
    ['stream', 'tool_error', 'real', undefined, undefined, 'the disk is full'],
    ['tool', 'tool_error', 'real', undefined, undefined, 'the disk is full'],
  ])
  const [{ count, samples }] = errors as [Errors['errors'][number]]
  expect(count).toBe(1)
  expect(samples[0]).toMatchObject({
    id: 7,
    session: expect.stringMatching(/^[0-9a-f]{8}$/),
    trace,
  })
})

it('shows errors that Squall itself made, with the reason', async () => {
  const squall = await start()
  await squall.app.close()
  await ask(squall, 'fine')
  const { errors } = await errorsOf(squall, 1)
  expect(errors).toMatchObject([
    { tool: 'fine', outcome: 'http_error', origin: 'squall', status: 502, count: 1 },
  ])
  expect(errors[0]!.samples[0]!.message).toMatch(/^the upstream cannot be reached: .*ECONNREFUSED/)
})

it('counts further errors of a kind, and keeps a few different messages of it', async () => {
  const squall = await start()
  for (let i = 0; i < 6; i++) await ask(squall, 'rpc', `disk ${i % 5} is full`)
  const { errors } = await errorsOf(squall, 6)
  expect(errors).toHaveLength(1)
  expect(errors[0]!.count).toBe(6)
  const messages = errors[0]!.samples.map(({ message }) => message)
  expect(messages).toEqual(['disk 0 is full', 'disk 4 is full', 'disk 3 is full', 'disk 2 is full'])
})

it('hides secrets and spells out characters that change how others are read', async () => {
  const squall = await start()
  await ask(squall, 'tool', 'no access with Authorization: Bearer abc.def.ghi')
  await ask(squall, 'tool', `api_key=k-123, cookie: sid=1; x=2`)
  await ask(squall, 'tool', `cannot reach https://user:pass@db.internal/x`)
  await ask(squall, 'tool', `\u001b[31mred\u202e${'x'.repeat(100_000)}\nnext`)
  const { errors } = await errorsOf(squall, 4)
  const messages = errors[0]!.samples.map(({ message = '' }) => message)
  expect(messages[3]).toBe('no access with Authorization: [redacted]')
  expect(messages[2]).toBe('api_key=[redacted], cookie: [redacted]')
  expect(messages[1]).toBe('cannot reach https://[redacted]@db.internal/x')
  expect(messages[0]).toMatch(/^\\u\{1b\}\[31mred\\u\{202e\}x+…$/)
  expect(messages[0]!.length).toBeLessThanOrEqual(200)
})
