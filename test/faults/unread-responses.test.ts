import type { RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { RawClient, rpcPost, type RuledOptions, startSidecar, toolCall } from '../support/wire.ts'
import { whenAsked } from './apps.ts'
import { oneFault } from './one-fault.ts'
import { familyIn } from '../telemetry/exposition.ts'

const opened = closers()
const BYTES = Buffer.from('nobody can read this')

/** Responses that cannot be read: in a coding that is not known, and damaged. */
const UNREAD: Readonly<Record<string, RequestListener>> = {
  'in an unknown coding': coded('secret'),
  damaged: coded('gzip'),
}

function coded(coding: string): RequestListener {
  return (req, res) => {
    whenAsked(req, () => {
      res.setHeader('content-type', 'application/json')
      res.setHeader('content-encoding', coding)
      res.end(coding === 'gzip' ? Buffer.concat([gzipSync('{}').subarray(0, 12), BYTES]) : BYTES)
    })
  }
}

async function met(fault: string, app: RequestListener, more: Partial<RuledOptions> = {}) {
  const stage = opened(await startSidecar({ rules: [oneFault(fault)], upstream: app, ...more }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  const answer = (await client.response())!
  client.close()
  await stage.settled()
  return { stage, response: answer }
}

it.each(Object.keys(UNREAD))(
  'faults that need no content act on a response %s',
  async (response) => {
    const aborted = await met(
      'abort: { rpcError: { code: -32000 }, at: response }',
      UNREAD[response]!,
    )
    expect(JSON.parse(aborted.response.body.toString())).toMatchObject({ error: { code: -32000 } })
    expect(aborted.response.headers.join('\n').toLowerCase()).not.toContain('content-encoding')
    expect(aborted.stage.counts()).toMatchObject({ injected: 1 })
    const status = await met('abort: { status: 503, at: response }', UNREAD[response]!)
    expect(status.response.status).toBe(503)
    const late = await met('delay: { fixed: 1ms, at: response }', UNREAD[response]!)
    expect(late.response.body.toString('latin1')).toContain(BYTES.toString())
    expect(late.stage.counts()).toMatchObject({ injected: 1 })
  },
)

it.each(Object.keys(UNREAD))('faults about the content leave a response %s', async (response) => {
  const { stage, response: answer } = await met('rewrite: { set: { /x: 1 } }', UNREAD[response]!)
  expect(answer.body.toString('latin1')).toContain(BYTES.toString())
  expect(stage.notApplicable).toMatchObject([{ reason: 'unreadable' }])
})

/** A stream in a coding that nobody knows. */
const unreadStream: RequestListener = (req, res) => {
  whenAsked(req, () => {
    res.setHeader('content-type', 'text/event-stream')
    res.setHeader('content-encoding', 'secret')
    res.write(BYTES)
    setImmediate(() => res.end(BYTES))
  })
}

/** A response that is larger than what is held of one; the upstream waits to be read. */
const largeBody: RequestListener = (req, res) => {
  whenAsked(req, () => {
    res.setHeader('content-type', 'application/json')
    res.end(`{"jsonrpc":"2.0","id":1,"result":"${'x'.repeat(2_000_000)}"}`)
  })
}

describe.each([
  ['a stream in an unknown coding', unreadStream, 'unreadable'],
  ['a body above the limit', largeBody, 'too_large'],
] as const)('%s', (_what, app, reason) => {
  const more = { maxBody: 65_536 }

  it('is replaced by a fault that needs no content', async () => {
    const error = await met('abort: { rpcError: { code: -32000 }, at: response }', app, more)
    expect(error.response.headers.join('\n').toLowerCase()).toContain(
      'content-type\napplication/json',
    )
    expect(JSON.parse(error.response.body.toString())).toMatchObject({
      id: 1,
      error: { code: -32000 },
    })
    expect(error.stage.counts()).toMatchObject({ injected: 1 })
    const status = await met('abort: { status: 503, at: response }', app, more)
    expect(status.response.status).toBe(503)
    expect(status.stage.counts()).toMatchObject({ injected: 1 })
  })

  it('is cut by a reset', async () => {
    const reset = oneFault('reset: { at: response }')
    const stage = opened(await startSidecar({ rules: [reset], upstream: app, ...more }))
    const client = await RawClient.connect(stage.port)
    await client.send(toolCall(1), 'POST')
    expect(await client.response()).toBeUndefined()
    await stage.settled()
    expect(stage.counts()).toMatchObject({ injected: 1 })
  })

  it('reaches the client as it came when the fault is not about the call', async () => {
    const other = oneFault('abort: { toolError: lost, at: response }', 'match: { method: ping }')
    const stage = opened(await startSidecar({ rules: [other], upstream: app, ...more }))
    const client = await RawClient.connect(stage.port)
    await client.send(rpcPost('{"jsonrpc":"2.0","id":1,"method":"ping"}'), 'POST')
    const { body } = (await client.response())!
    client.close()
    expect(body.length).toBe(app === largeBody ? 2_000_036 : 2 * BYTES.length)
  })

  it('passes faults about its content, with the reason', async () => {
    const { stage, response: answer } = await met('rewrite: { set: { /x: 1 } }', app, more)
    expect(answer.status).toBe(200)
    expect(answer.body.length).toBe(app === largeBody ? 2_000_036 : 2 * BYTES.length)
    expect(stage.notApplicable).toMatchObject([{ reason }])
  })
})

it.each(['truncate: { framing: clean }', 'truncate: { after: { bytes: 9B }, framing: clean }'])(
  '%s leaves an unread response incomplete',
  async (fault) => {
    const { stage } = await met(fault, largeBody, { maxBody: 65_536 })
    const { lines } = familyIn(await stage.metrics(), 'squall_calls_total')!
    expect(lines.filter(({ value }) => value > 0).map(({ labels }) => labels)).toMatchObject([
      { outcome: 'incomplete', origin: 'injected' },
    ])
    expect(stage.counts()).toMatchObject({ injected: 1 })
  },
)
