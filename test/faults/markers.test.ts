import { expect, it } from 'vitest'
import type { Fault, Verdict } from '../../src/filters/fault.ts'
import { call, callMessage, startSidecar } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { ECHO, oneFault } from './one-fault.ts'
import { PushApp } from './push-app.ts'
import { jsonApp, resultText, sseApp, streamText, whenAsked } from './apps.ts'

const opened = closers()

function rules(marker: boolean): readonly RuleSpec[] {
  return [oneFault('delay: { fixed: 1ms }', `${ECHO}\n    marker: ${marker}`, 'r')]
}

const RPC: Verdict = { kind: 'respond', reply: { kind: 'rpcError', code: 1, message: 'no' } }
const HTTP: Verdict = {
  kind: 'respond',
  reply: { kind: 'http', status: 503, body: undefined, headers: {} },
}

const giving = (verdict: Verdict, hook: 'onRequest' | 'beforeResponse'): Fault => ({
  [hook]: () => verdict,
})

const FAULTS: readonly (readonly [string, Fault, typeof jsonApp])[] = [
  ['a message', giving(RPC, 'onRequest'), jsonApp],
  ['a status', giving(HTTP, 'onRequest'), jsonApp],
  ['a message instead of the response', giving(RPC, 'beforeResponse'), jsonApp],
  ['a status instead of the response', giving(HTTP, 'beforeResponse'), jsonApp],
  ['an event instead of the response', giving(RPC, 'beforeResponse'), sseApp],
  [
    'an event of a stream',
    {
      async *onResponse(ctx, frames) {
        for await (const frame of frames) {
          ctx.injected()
          yield frame
        }
      },
    },
    sseApp,
  ],
  ['an output', { onOutput: (ctx, out) => (ctx.injected(), out) }, jsonApp],
]

it.each(FAULTS)('marks %s, unless the rule says otherwise', async (_, fault, app) => {
  for (const marker of [true, false]) {
    const stage = opened(
      await startSidecar({ rules: rules(marker), faults: [fault], upstream: app }),
    )
    const got = await call({ ...stage, headers: { origin: 'https://a.example' } }, callMessage(1))
    const wire = JSON.stringify(got.headers) + got.text
    expect(wire.includes('squall')).toBe(marker)
    expect(stage.injected.length).toBeGreaterThan(0)
    expect(stage.counts().injected).toBe(1)
  }
})

it('marks what goes by the stream of a session, and copies, unless the rule says otherwise', async () => {
  for (const marker of [true, false]) {
    const app = opened(await PushApp.open(rules(marker), { faults: [giving(RPC, 'onRequest')] }))
    const client = await app.listen('s')
    const taken = await app.call('s', 1)
    await client.sees('"message":"no"')
    expect((taken.text + client.text).includes('squall')).toBe(marker)

    const names: string[] = []
    let copied: (() => void) | undefined
    const twice = new Promise<void>((resolve) => (copied = resolve))
    const stage = opened(
      await startSidecar({
        rules: rules(marker),
        faults: [giving({ kind: 'copies', copies: 1, spacing: 0 }, 'onRequest')],
        upstream: (req, res) => {
          names.push(...Object.keys(req.headers))
          whenAsked(req, ([message]) => {
            res.end(resultText(message!.id!))
            if (message!.id !== 1) copied!()
          })
        },
      }),
    )
    await call(stage, callMessage(1))
    await twice
    expect(names.includes('x-squall-copy')).toBe(marker)
  }
})

it('marks a head only with what was done by then', async () => {
  const late: Fault = {
    onOutput: (ctx, { head, body }) => ({
      head,
      body: (async function* () {
        for await (const chunk of body) {
          ctx.injected()
          yield chunk
        }
      })(),
    }),
  }
  const stage = opened(await startSidecar({ rules: rules(true), faults: [late], upstream: sseApp }))
  const got = await call(stage, callMessage(1))
  expect(got.headers['x-squall-fault']).toBeUndefined()
  expect(got.text).toBe(streamText(1))
  expect(stage.counts().injected).toBe(1)
})

it('counts a call within a limit as such, unless another fault of the rule acted', async () => {
  const sparing: Fault = {
    onRequest: (ctx) => {
      ctx.withinLimit()
      return { kind: 'continue' }
    },
  }
  const acting: Fault = { onOutput: (ctx, out) => (ctx.injected(), out) }
  const idle: Fault = { onOutput: (_, out) => out }
  for (const [faults, result] of [
    [[sparing], 'within_limit'],
    [[sparing, idle], 'within_limit'],
    [[sparing, acting], 'injected'],
    [[acting, sparing], 'injected'],
  ] as const) {
    const stage = opened(await startSidecar({ rules: rules(true), faults, upstream: jsonApp }))
    await call(stage, callMessage(1))
    const { within_limit, injected, not_applicable, not_reached } = stage.counts()
    const counts = { within_limit, injected, not_applicable, not_reached }
    const none = { within_limit: 0, injected: 0, not_applicable: 0, not_reached: 0 }
    expect(counts).toEqual({ ...none, [result]: 1 })
  }
})
