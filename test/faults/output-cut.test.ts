import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { CutResponse } from '../../src/filters/lib/cut-response.ts'
import type { Fault } from '../../src/filters/fault.ts'
import { closers } from '../support/closers.ts'
import {
  type ClientResponse,
  RawClient,
  type RuledSidecar,
  startSidecar,
  toolCall,
} from '../support/wire.ts'
import { jsonApp } from './apps.ts'
import { inPieces, onBody, PASSING, type Bytes } from './output-faults.ts'
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

it.each([
  ['fin', 'length'],
  ['fin', 'chunked'],
  ['rst', 'length'],
] as const)('cuts by %s where a transform says so, with what came before (%s)', async (how, by) => {
  const cut = onBody(async function* (source, ctx) {
    for await (const chunk of source) {
      ctx.injected('cut')
      yield chunk.subarray(0, 3)
      if (how === 'rst') await ctx.sleep(20)
      throw new CutResponse(how)
    }
  })
  const stage = await start(
    [PASSING, cut, PASSING],
    inPieces(['abcdef'], by === 'length' ? 6 : undefined),
  )
  const { response, client } = await met(stage)
  expect(response).toMatchObject({ framing: by, complete: false })
  expect(response.body.toString()).toBe('abc')
  expect(await client.gone).toBe(how === 'fin' ? 'fin' : 'reset')
  expect(await stage.origins()).toEqual(['injected'])
  expect(stage.counts().injected).toBe(1)
})

it('sends the head before a cut that leaves nothing of the body', async () => {
  const cut: Fault = {
    onOutput: (ctx, { head }) => {
      ctx.injected()
      // oxlint-disable-next-line require-yield -- it is over before the first byte
      const none = async function* (): Bytes {
        throw new CutResponse('fin')
      }
      return { head, body: none() }
    },
  }
  const stage = await start([cut], jsonApp)
  const { response, client } = await met(stage)
  expect(response).toMatchObject({ status: 200, bodyBytes: 0, complete: false })
  expect(response.headers).toContain('r/delay')
  expect(await client.gone).toBe('fin')
})

it('ends the connection behind a body that falls short of its length', async () => {
  const short = onBody(async function* (source, ctx) {
    let skip = 1
    for await (const chunk of source) {
      ctx.injected()
      yield chunk.subarray(skip)
      skip = 0
    }
  })
  const stage = await start([short], inPieces(['abc', 'def'], 6))
  const { response, client } = await met(stage)
  expect(response).toMatchObject({ framing: 'length', complete: false })
  expect(response.body.toString()).toBe('bcdef')
  expect(await client.gone).toBe('fin')
})

it('writes nothing beyond the length that was declared', async () => {
  const long = onBody(async function* (source) {
    yield Buffer.from('X')
    yield* source
    yield Buffer.from('HTTP/1.1 200 OK\r\n')
  })
  const stage = await start([long], inPieces(['abc', 'def'], 6))
  const { response, client } = await met(stage)
  expect(response).toMatchObject({ framing: 'length', complete: true })
  expect(response.body.toString()).toBe('Xabcde')
  expect(await client.gone).toBe('fin')
  expect(client.text.endsWith('Xabcde')).toBe(true)
  expect(client.violations).toEqual([])
})

it.each(['12x', '1, 2', ''])('hangs up behind a length that is none: %j', async (length) => {
  const lying: Fault = {
    onOutput: (_, out) => ({
      ...out,
      head: { ...out.head, headers: ['Content-Length', length] },
    }),
  }
  const stage = await start([lying], inPieces(['abc'], 3))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  expect(await client.gone).toBe('fin')
})

it('ends the response in order where a transform ends, and lets go of the upstream', async () => {
  let gone: Promise<unknown> | undefined
  const first = onBody(async function* (source, ctx) {
    for await (const chunk of source) {
      ctx.injected()
      yield chunk
      return
    }
  })
  const stage = await start([first], (req, res) => {
    req.resume()
    gone = once(res, 'close')
    res.write('abc')
  })
  const { response, client } = await met(stage)
  expect(response).toMatchObject({ framing: 'chunked', complete: true })
  expect(response.body.toString()).toBe('abc')
  await gone
  expect(await stage.origins()).toEqual(['injected'])
  expect(stage.active()).toBe(0)
  // The upstream never ends its responses, and each exchange does all the same.
  expect(await reusable(client)).toBe(true)
})
