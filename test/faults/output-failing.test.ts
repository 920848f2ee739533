import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import type { Fault } from '../../src/filters/fault.ts'
import { headersForChangedBody } from '../../src/http/changed-body-headers.ts'
import { closers } from '../support/closers.ts'
import {
  type ClientResponse,
  RawClient,
  type RuledSidecar,
  startSidecar,
  toolCall,
} from '../support/wire.ts'
import { jsonApp, resultText } from './apps.ts'
import { inPieces, onBody, PASSING } from './output-faults.ts'
import { REPLACED } from './one-fault.ts'

const opened = closers()
async function start(faults: readonly Fault[], app: RequestListener): Promise<RuledSidecar> {
  return opened(await startSidecar({ rules: [REPLACED], faults, upstream: app }))
}

/** The one response, and how the connection is afterwards. */
async function met(stage: RuledSidecar): Promise<{ response: ClientResponse; client: RawClient }> {
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  return { response: (await client.response())!, client }
}

/** True when the connection is good for another exchange. */
async function reusable(client: RawClient): Promise<boolean> {
  await client.send(toolCall(2), 'POST')
  const second = await client.response(1)
  client.close()
  return second?.complete === true && client.violations.length === 0
}

const FAILURES: readonly [string, Fault, string][] = [
  ['before the head', { onOutput: () => Promise.reject(new Error('a')) }, 'length'],
  [
    'with the whole body in hand',
    {
      onOutput: async (_, out) => {
        for await (const chunk of out.body) void chunk
        throw new Error('b')
      },
    },
    'length',
  ],
  [
    'in the middle of a piece',
    onBody(async function* (source) {
      for await (const chunk of source) {
        yield chunk.subarray(0, 1)
        throw new Error('c')
      }
    }),
    'length',
  ],
  [
    'behind a head of its own',
    {
      onOutput: (_, out) => ({
        head: { ...out.head, headers: headersForChangedBody(out.head.headers) },
        body: (async function* () {
          for await (const chunk of out.body) {
            if (chunk.length === 0) yield chunk
            throw new Error('d')
          }
        })(),
      }),
    },
    'chunked',
  ],
  [
    'by a head that cannot be sent',
    {
      onOutput: (_, out) => ({ ...out, head: { ...out.head, headers: ['a', 'b\r\nc: d'] } }),
    },
    'length',
  ],
]

it.each(FAILURES)('loses nothing when a transform fails %s', async (_, fault, framing) => {
  const stage = await start([PASSING, fault, PASSING], inPieces(['abc', 'def', 'ghi'], 9))
  const { response, client } = await met(stage)
  expect(response).toMatchObject({ framing, complete: true, status: 200 })
  expect(response.body.toString()).toBe('abcdefghi')
  expect(stage.broken).toHaveLength(1)
  // The client may have the response before the exchange has ended.
  await stage.until(() => stage.notApplicable.length === 3)
  expect(stage.notApplicable.map(({ reason }) => reason)).toEqual([
    'failed',
    'nothing_to_act_on',
    'nothing_to_act_on',
  ])
  expect(await reusable(client)).toBe(true)
})

it.each(['retired', 'drained'] as const)(
  'a transform that sleeps when the rule is %s loses nothing',
  async (how) => {
    const slow = onBody(async function* (source, ctx) {
      for await (const chunk of source) {
        ctx.injected()
        await ctx.sleep(600_000)
        yield chunk
      }
    })
    const stage = await start([slow], inPieces(['abc', 'def'], 6))
    const client = await RawClient.connect(stage.port)
    await client.send(toolCall(1), 'POST')
    await stage.until(() => stage.injected.length === 1)
    if (how === 'retired') stage.disarm()
    else void stage.drain()
    const response = (await client.response())!
    expect(response).toMatchObject({ complete: true })
    expect(response.body.toString()).toBe('abcdef')
    expect(stage.broken).toEqual([])
    expect(stage.injected).toHaveLength(1)
    client.close()
  },
)

it('passes the cap by untouched', async () => {
  const slow = onBody(async function* (source, ctx) {
    for await (const chunk of source) {
      ctx.injected()
      await ctx.sleep(600_000)
      yield chunk
    }
  })
  const stage = opened(
    await startSidecar({
      rules: [REPLACED],
      file: { maxActive: 1 },
      faults: [slow],
      upstream: jsonApp,
    }),
  )
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await stage.until(() => stage.injected.length === 1)
  expect((await met(stage)).response.body.toString()).toBe(resultText(1))
  expect(stage.counts().concurrency_limit).toBe(1)
  client.close()
})

it.each(['rst', 'fin'] as const)(
  'tells the client at once that the upstream broke off (%s), with what came before',
  async (how) => {
    let cut: (() => void) | undefined
    const holding = onBody(async function* (source, ctx) {
      for await (const chunk of source) {
        ctx.injected()
        await ctx.sleep(600_000)
        yield chunk
      }
    })
    const stage = await start([PASSING, holding], (req, res) => {
      req.resume()
      res.setHeader('content-length', 100)
      res.write('abc')
      cut = () => (how === 'rst' ? res.socket!.resetAndDestroy() : res.socket!.destroySoon())
    })
    const client = await RawClient.connect(stage.port)
    await client.send(toolCall(1), 'POST')
    await stage.until(() => stage.injected.length === 1)
    cut!()
    expect(await client.gone).toBe(how === 'rst' ? 'reset' : 'fin')
    if (how === 'fin') expect(client.responses[0]!.body.toString()).toBe('abc')
    expect(client.responses[0]!.complete).toBe(false)
    expect(stage.broken).toEqual([])
    expect(stage.active()).toBe(0)
  },
)
