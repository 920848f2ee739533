import { PassThrough } from 'node:stream'
import { Type } from 'typebox'
import { afterEach, expect, it } from 'vitest'
import { defineFault } from '../../src/filters/fault.ts'
import { defaultMemoryBudget, MemoryBudget } from '../../src/listener/memory-budget.ts'
import { RareLog } from '../../src/listener/rare-log.ts'
import { StdioPort } from '../../src/listener/stdio/stdio-port.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { closers } from '../support/closers.ts'
import { call, callMessage, startSidecar, startUpstream } from '../support/wire.ts'
import { ruleStage } from '../support/wire/rules.ts'
import { SETTINGS } from '../engines/limits.ts'
import { jsonApp, resultText, sseApp } from './apps.ts'
import { REPLACED } from './one-fault.ts'
import { PushApp } from './push-app.ts'

/** A fault that nothing else in the project knows: all it needs is here. */
const shout = defineFault({
  name: 'shout',
  title: 'change a result',
  summary: 'Adds a word to the text of a result.',
  clientSees: 'A result with more text.',
  otherTools: 'Other tools have nothing like it.',
  example: '- name: loud\n  faults:\n    - shout: { word: hey }',
  schema: Type.Object({ word: Type.String() }),
  create: ({ word }) => ({
    changes: true,
    async *onResponse(ctx, frames) {
      for await (const frame of frames) {
        if (frame.last) {
          ctx.injected()
          const text = Buffer.from(frame.raw).toString()
          yield { ...frame, raw: Buffer.from(text.replace('"text":"ok', `"text":"ok ${word}`)) }
        } else yield frame
      }
    },
  }),
})

const FAULTED = { rules: [REPLACED], faults: [shout.create({ word: 'hey' })] }
const LOUD = 'ok hey'

const opened = closers()
let app: PushApp | undefined
afterEach(() => app?.stage.close())

/** Counts the calls of a sidecar on which the fault took effect. */
const injected = (squall: { readonly faults?: { counts(): { injected: number } } | undefined }) =>
  squall.faults?.counts().injected

it.each([
  ['a JSON response', jsonApp],
  ['a stream', sseApp],
])('a fault that is one file acts on %s', async (_, upstream) => {
  const squall = opened(await startSidecar({ upstream, ...FAULTED }))
  const { text } = await call(squall, callMessage(1))
  expect(text).toContain(resultText(1, LOUD))
  expect(injected(squall)).toBe(1)
})

it('a fault that is one file acts on the calls of a batch', async () => {
  const squall = opened(await startSidecar({ upstream: jsonApp, ...FAULTED }))
  const { text } = await call(squall, [callMessage(1), callMessage(2, 'other'), callMessage(3)])
  for (const result of [resultText(1, LOUD), resultText(2), resultText(3, LOUD)]) {
    expect(text).toContain(result)
  }
  expect(injected(squall)).toBe(2)
})

it('a fault that is one file acts on a response that is pushed', async () => {
  app = await PushApp.open(FAULTED.rules, { faults: FAULTED.faults })
  const client = await app.listen('a')
  await app.call('a', 1)
  app.say(`event: message\ndata: ${resultText(1)}\n\n`)
  await client.sees(resultText(1, LOUD))
  await app.stage.close()
  app = undefined
})

it('a fault that is one file acts on a route to a dependency', async () => {
  const { port } = opened(await startUpstream(sseApp))
  const listen = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const
  const upstream = { kind: 'tcp', tls: false, host: '127.0.0.1', port } as const
  const outboundPairs = [{ listen, upstream, isOutbound: true }]
  const squall = opened(await startSidecar({ upstream: jsonApp, outboundPairs, ...FAULTED }))
  const route = { host: '127.0.0.1', port: squall.ports[1]! }
  expect((await call(route, callMessage(1))).text).toContain(resultText(1, LOUD))
  expect(injected(squall)).toBe(1)
})

it('a fault that is one file acts on a line of stdio', async () => {
  const stage = ruleStage(FAULTED.rules, { faults: FAULTED.faults })
  const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const line = resultText(1).replaceAll("'", '')
  const server = { command: 'sh', args: ['-c', `read -r line; printf '%s\\n' '${line}'`] }
  const logger = { debug: ignore, info: ignore, warn: ignore, error: console.error }
  const port = new StdioPort(
    { ...SETTINGS, server },
    {
      telemetry: new Metrics({ version: '0.0.0-test' }),
      logger,
      rareLog: new RareLog(logger, () => performance.now()),
      faults: stage,
      memory: new MemoryBudget(defaultMemoryBudget()),
    },
    { input, output, errors },
  )
  await port.start()
  const carried = port.carry()
  input.end(`${JSON.stringify(callMessage(1))}\n`)
  await carried
  expect(String(output.read())).toBe(`${resultText(1, LOUD)}\n`)
  expect(stage.counts().injected).toBe(1)
})

function ignore(): void {
  // Only errors matter here.
}
