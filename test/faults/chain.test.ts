import { expect, it } from 'vitest'
import { CutResponse } from '../../src/filters/lib/cut-response.ts'
import { CONTINUE, type Fault, type Verdict } from '../../src/filters/fault.ts'
import {
  call,
  callMessage,
  post,
  RawClient,
  startSidecar,
  textOf,
  toolCall,
} from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { jsonApp, resultText, sseApp, streamText, whenAsked } from './apps.ts'
import { oneFault, REPLACED } from './one-fault.ts'
import { explain } from '../../src/rules/explain/explain.ts'
import { compileRules } from '../../src/rules/match/compile.ts'
import { facts } from '../rules/facts.ts'

const opened = closers()
const rules = [REPLACED]

const append = (text: string): Fault => ({
  async *onResponse(ctx, frames) {
    for await (const frame of frames) {
      if (!frame.last) {
        yield frame
        continue
      }
      ctx.injected(text)
      yield { ...frame, raw: Buffer.concat([frame.raw, Buffer.from(text)]), last: true }
    }
  },
})

const verdict = (of: Verdict, at: 'onRequest' | 'beforeResponse' = 'onRequest'): Fault => ({
  [at]: (ctx: { injected(): void }) => {
    ctx.injected()
    return of
  },
})

const reply: Verdict = {
  kind: 'respond',
  reply: { kind: 'rpcError', code: 1, message: 'no' },
}

it('leads a response through the faults in the order written', async () => {
  const faults = [append('a'), append('b'), append('c')]
  const stage = opened(await startSidecar({ rules, faults, upstream: jsonApp }))
  const got = await call(stage, callMessage(1))
  expect(got.text).toBe(`${resultText(1)}abc`)
  expect(stage.injected.map(({ effect }) => effect)).toEqual(['a', 'b', 'c'])
  expect(stage.counts(0).matched).toBe(1)
})

it('ends the chain at the first verdict, at the request and at the response', async () => {
  const seen: string[] = []
  const note = (name: string): Fault => ({ onRequest: () => (seen.push(name), CONTINUE) })
  const faults = [note('a'), verdict(reply), note('b')]
  const stage = opened(await startSidecar({ rules, faults, upstream: jsonApp }))
  expect(JSON.parse((await call(stage, callMessage(1))).text)).toMatchObject({ error: { code: 1 } })
  expect(seen).toEqual(['a'])

  const later = [append('a'), verdict(reply, 'beforeResponse'), append('b')]
  const other = opened(await startSidecar({ rules, faults: later, upstream: sseApp }))
  const text = await textOf(await post(other, callMessage(1)))
  expect(text).toContain('"code":1')
  expect(text.endsWith('}\n\n')).toBe(true)
})

it.each(['rst', 'fin'] as const)('resets at the request by %s', async (how) => {
  const stage = opened(
    await startSidecar({ rules, faults: [verdict({ kind: 'reset', how })], upstream: jsonApp }),
  )
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  expect(await client.gone).toBe(how === 'rst' ? 'reset' : 'fin')
  expect(client.received).toBe(0)
  expect(stage.counts().matched).toBe(1)
  expect(stage.active()).toBe(0)
})

it('hangs until the client leaves, or the rule is taken back', async () => {
  const stage = opened(
    await startSidecar({ rules, faults: [verdict({ kind: 'hang' })], upstream: jsonApp }),
  )
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await stage.until(() => stage.injected.length === 1)
  expect(stage.active()).toBe(1)
  client.reset()
  await stage.settled()
  expect(stage.active()).toBe(0)

  const got = call(stage, callMessage(2))
  await stage.until(() => stage.injected.length === 2)
  stage.disarm()
  expect((await got).text).toBe(resultText(2))
  await stage.settled(2)
  expect(await stage.origins()).toContain('real')
})

it('cuts a stream where a transform says so, with what came before', async () => {
  const cut: Fault = {
    async *onResponse(ctx, frames) {
      for await (const frame of frames) {
        if (frame.last) {
          ctx.injected('cut')
          throw new CutResponse('fin')
        }
        yield frame
      }
    },
  }
  const stage = opened(await startSidecar({ rules, faults: [cut], upstream: sseApp }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  expect(await client.gone).toBe('fin')
  const [before] = streamText(1).split('id: 2')
  expect(client.responses[0]!.complete).toBe(false)
  expect(client.responses[0]!.body.toString()).toBe(before)
  expect(await stage.origins()).toEqual(['injected'])
})

it('ends the response where a transform ends, and lets go of the upstream', async () => {
  const short: Fault = {
    async *onResponse(ctx, frames) {
      for await (const frame of frames) {
        ctx.injected()
        yield frame
        return
      }
    },
  }
  let gone: Promise<void> | undefined
  const stage = opened(
    await startSidecar({
      rules,
      faults: [short],
      upstream: (req, res) => {
        gone = new Promise((resolve) => res.once('close', resolve))
        whenAsked(req, () => {
          res.setHeader('content-type', 'text/event-stream')
          res.write(streamText(1))
        })
      },
    }),
  )
  const got = await call(stage, callMessage(1))
  expect(got.text).toBe(': x-squall-fault r/delay\n\nid: 1\ndata: \n\n')
  await gone
})

it.each([jsonApp, sseApp])('passes traffic on when a fault fails', async (app) => {
  const failing: Fault = {
    onRequest: () => {
      throw new Error('a')
    },
    beforeResponse: () => Promise.reject(new Error('b')),
    async *onResponse(_, frames) {
      for await (const frame of frames) {
        if (frame.last) throw new Error('c')
        yield frame
      }
    },
  }
  const stage = opened(await startSidecar({ rules, faults: [failing], upstream: app }))
  const got = await call(stage, callMessage(1))
  expect(got.text).toBe(app === jsonApp ? resultText(1) : streamText(1))
  expect(stage.broken).toHaveLength(3)
})

it('closes the generators of a client that has left', async () => {
  const closed: string[] = []
  const holding = (name: string): Fault => ({
    async *onResponse(ctx, frames) {
      try {
        for await (const frame of frames) {
          if (name === 'b' && frame.message !== undefined) {
            ctx.injected()
            await ctx.sleep(Infinity)
          }
          yield frame
        }
      } finally {
        closed.push(name)
      }
    },
  })
  const faults = [holding('a'), holding('b'), holding('c')]
  const stage = opened(await startSidecar({ rules, faults, upstream: sseApp }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await stage.until(() => stage.injected.length === 1)
  client.reset()
  await stage.settled()
  await new Promise((resolve) => setImmediate(resolve))
  expect(closed.toSorted()).toEqual(['a', 'b', 'c'])
  expect(stage.active()).toBe(0)
})

it('asks the upstream to pause while a fault is behind, and loses no byte', async () => {
  const event = `data: {"jsonrpc":"2.0","method":"notifications/message","params":"${'x'.repeat(64_000)}"}\n\n`
  const count = 400
  let written = 0
  let release: (() => void) | undefined
  const slow: Fault = {
    async *onResponse(_, frames) {
      let first = true
      for await (const frame of frames) {
        if (first) await new Promise<void>((resolve) => (release = resolve))
        first = false
        yield frame
      }
    },
  }
  let paused: (() => void) | undefined
  const full = new Promise<void>((resolve) => (paused = resolve))
  const stage = opened(
    await startSidecar({
      rules,
      faults: [slow],
      upstream: (req, res) => {
        whenAsked(req, async () => {
          res.setHeader('content-type', 'text/event-stream')
          for (; written < count; written++) {
            if (res.write(event)) continue
            const drained = new Promise((resolve) => res.once('drain', resolve))
            const timer = setTimeout(() => paused!(), 500)
            await drained
            clearTimeout(timer)
          }
          res.end(streamText(1))
        })
      },
    }),
  )
  const text = call(stage, callMessage(1))
  await full
  expect(written).toBeLessThan(count)
  release!()
  expect((await text).text === event.repeat(count) + streamText(1)).toBe(true)
})

it('passes what is too large to hold, and says that no fault could act', async () => {
  const large = resultText(1, 'x'.repeat(1000))
  const faulted = { rules, faults: [append('x')], maxBody: 500 }
  const type = 'content-type'
  const stage = opened(
    await startSidecar({
      ...faulted,
      upstream: (_, res) => res.setHeader(type, 'application/json').end(large),
    }),
  )
  expect((await call(stage, callMessage(1))).text).toBe(large)
  const event = `data: ${large}\n\n`
  const other = opened(
    await startSidecar({
      ...faulted,
      upstream: (_, res) => res.setHeader(type, 'text/event-stream').end(event),
    }),
  )
  expect((await call(other, callMessage(1))).text).toBe(event)
  for (const { notApplicable } of [stage, other]) {
    expect(notApplicable.map(({ reason }) => reason)).toEqual(['too_large'])
  }
})

const EARLY = 'delay: { fixed: 1ms, at: request }'
const LATE = 'delay: { fixed: 1ms, at: response }'
const SILENT = 'hang: { at: headers, for: 1ms }'
const DAMAGED = 'stream: { wrongId: other }'

it.each([
  ['json', 'abort: { toolError: lost }', ['yes', 'no', 'no', 'yes', 'no', 'no', 'no']],
  ['sse', 'abort: { toolError: lost }', ['yes', 'no', 'no', 'yes', 'no', 'no', 'no']],
  ['json', 'abort: { status: 503, at: response }', ['yes', 'yes', 'no', 'yes', 'yes', 'no', 'no']],
  [
    'json',
    'abort: { toolError: lost, at: response }',
    ['yes', 'yes', 'no', 'yes', 'yes', 'no', 'no'],
  ],
  [
    'sse',
    'abort: { toolError: lost, at: response }',
    ['yes', 'yes', 'yes', 'yes', 'yes', 'no', 'no'],
  ],
  ['json', 'reset: { at: response }', ['yes', 'yes', 'no', 'yes', 'yes', 'no', 'no']],
  ['sse', 'reset: { at: response }', ['yes', 'yes', 'yes', 'yes', 'yes', 'no', 'no']],
] as const)('acts on %s with %s as explain says', async (on, ends, expected) => {
  const chain = [EARLY, LATE, SILENT, ends, EARLY, LATE, DAMAGED].map((text, i) =>
    oneFault(text, undefined, `chain-${i}`),
  )
  const predicted = explain(compileRules({ rules: chain }), facts({ name: 'echo' }), 0).rules.map(
    ({ faults }) => faults[0]!.responses.find((each) => each.on === on)!.acts,
  )
  expect(predicted).toEqual(expected)
  const upstream = on === 'json' ? jsonApp : sseApp
  const stage = opened(await startSidecar({ rules: chain, upstream }))
  await call(stage, callMessage(1)).catch(() => undefined)
  await stage.settled()
  const counts = chain.map((_, i) => stage.counts(i))
  expect(counts.map(({ injected, not_reached }) => injected + not_reached)).toEqual(
    chain.map(() => 1),
  )
  expect(counts.map(({ injected }) => (injected > 0 ? 'yes' : 'no'))).toEqual(predicted)
})
