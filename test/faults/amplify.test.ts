import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { call, callMessage, RawClient, startSidecar, toolCall } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { jsonApp, resultText, sseApp, streamText } from './apps.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const MODERN = {
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'echo',
}

interface Got {
  readonly id: unknown
  readonly rest: string
}

/** An upstream that notes each call that it gets. */
function noting(app: RequestListener, got: Got[]): RequestListener {
  return (req, res) => {
    let text = ''
    req.on('data', (part: Buffer) => (text += part.toString()))
    req.on('end', () => {
      const read = JSON.parse(text) as Record<string, unknown> | Record<string, unknown>[]
      for (const { id, ...rest } of [read].flat()) got.push({ id, rest: JSON.stringify(rest) })
    })
    app(req, res)
  }
}

/** Resolves when the upstream has got at least so many calls. */
async function reaches(got: readonly Got[], count: number): Promise<void> {
  await eventually(() => (got.length >= count ? undefined : `${got.length} calls`))
}

it.each([
  ['JSON', jsonApp, resultText(1), {}],
  ['a stream', sseApp, streamText(1), {}],
  ['JSON, of a modern client', jsonApp, resultText(1), MODERN],
])('sends copies of the call and passes the one response: %s', async (_, app, text, headers) => {
  const got: Got[] = []
  const stage = opened(
    await startSidecar({ rules: [oneFault('amplify: { copies: 3 }')], upstream: noting(app, got) }),
  )
  expect((await call({ ...stage, headers }, callMessage(1))).text).toBe(text)
  await reaches(got, 4)
  expect(new Set(got.map(({ id }) => id)).size).toBe(4)
  expect(got.filter(({ id }) => id === 1)).toHaveLength(1)
  expect(new Set(got.map(({ rest }) => rest)).size).toBe(1)
  expect(stage.counts()).toMatchObject({ injected: 1, not_applicable: 0 })
  expect(await stage.origins()).toEqual(['real'])
})

it('copies one call of a batch alone', async () => {
  const got: Got[] = []
  const stage = opened(
    await startSidecar({
      rules: [oneFault('amplify: { copies: 2 }')],
      upstream: noting(jsonApp, got),
    }),
  )
  const headers = { 'x-batch': '1' }
  const response = await call({ ...stage, headers }, [callMessage(1, 'other'), callMessage(2)])
  expect(response.text).toBe(`[${resultText(1)} , ${resultText(2)}]`)
  await reaches(got, 4)
  expect(got.filter(({ rest }) => rest.includes('"other"'))).toHaveLength(1)
})

it('sends the copies of a client that has left', async () => {
  const got: Got[] = []
  const app: RequestListener = () => undefined
  const stage = opened(
    await startSidecar({
      rules: [oneFault('amplify: { copies: 2, spacing: 30ms }')],
      upstream: noting(app, got),
    }),
  )
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await reaches(got, 1)
  client.reset()
  await reaches(got, 3)
  expect(stage.active()).toBe(0)
})

it.each(['0ms', '30ms'])(
  'sends no copy to a session that has ended, and counts none: %s',
  async (spacing) => {
    const got: Got[] = []
    const app: RequestListener = (req, res) => {
      req.resume().on('end', () => res.writeHead(404).end())
    }
    const rules = [oneFault(`amplify: { copies: 2, spacing: ${spacing} }`)]
    const stage = opened(await startSidecar({ rules, upstream: noting(app, got), session: 's1' }))
    expect((await call(stage, callMessage(1))).status).toBe(404)
    await stage.settled()
    expect(stage.notApplicable).toMatchObject([{ reason: 'session_over' }])
    expect(stage.counts()).toMatchObject({ injected: 0, not_applicable: 1 })
    // By then the first copy would have been there.
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(got).toHaveLength(1)
  },
)

const NOTES = 'match: { method: notifications/cancelled }'
const note = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } }

it.each(['0ms', '30ms'])(
  'sends no copy %s behind a notification in a session that the upstream does not know',
  async (spacing) => {
    const got: Got[] = []
    const app: RequestListener = (req, res) => {
      req.resume().on('end', () => res.writeHead(404).end())
    }
    const rules = [oneFault(`amplify: { copies: 2, spacing: ${spacing} }`, NOTES)]
    const stage = opened(await startSidecar({ rules, upstream: noting(app, got), session: 's1' }))
    expect((await call(stage, note)).status).toBe(404)
    await eventually(() => (stage.notApplicable.length > 0 ? undefined : 'not yet'))
    expect(stage.notApplicable).toMatchObject([{ reason: 'session_over' }])
    // By then the first copy would have been there.
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(got).toHaveLength(1)
  },
)

it('sends the copies of a notification when the upstream has responded', async () => {
  const got: Got[] = []
  const rules = [oneFault('amplify: { copies: 1 }', NOTES)]
  const stage = opened(await startSidecar({ rules, upstream: noting(jsonApp, got), session: 's1' }))
  let fastest = Infinity
  for (let n = 1; n <= 30; n++) {
    const begun = performance.now()
    await call(stage, note)
    await reaches(got, 2 * n)
    fastest = Math.min(fastest, performance.now() - begun)
  }
  // Without a response of the upstream, each would wait for 100 ms.
  expect(fastest).toBeLessThan(100)
})

it('sends no copy behind the DELETE of the client', async () => {
  const got: Got[] = []
  const upstream: RequestListener = (req, res) => {
    if (req.method === 'DELETE') res.end()
    else noting(jsonApp, got)(req, res)
  }
  const rules = [oneFault('amplify: { copies: 100, spacing: 40ms }')]
  const squall = opened(await startSidecar({ upstream, rules }))
  const headers = { 'mcp-session-id': 's1' }
  await call({ ...squall, headers }, callMessage(1))
  await eventually(() => (got.length > 1 ? undefined : 'no copy'))
  expect((await fetch(`${squall.url}/mcp`, { method: 'DELETE', headers })).status).toBe(200)
  // A copy that was sent before may still arrive; the pause afterwards is that of three copies.
  const pause = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 120))
  await pause()
  const { length } = got
  expect(length).toBeLessThan(100)
  await pause()
  expect(got).toHaveLength(length)
})
