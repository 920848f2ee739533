import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import type { RequestListener } from 'node:http'
import { describe, expect, it } from 'vitest'
import {
  call,
  callMessage,
  post,
  RawClient,
  startSidecar,
  textOf,
  toolCall,
} from '../support/wire.ts'
import type { CallLine } from '../../src/telemetry/call-line.ts'
import { CallWatch } from '../../src/telemetry/call-watch.ts'
import { closers } from '../support/closers.ts'
import { jsonApp, resultText, sseApp, streamText, whenAsked } from './apps.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const MARK = ': x-squall-fault bad/stream\n\n'
const MODERN = {
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'echo',
}

/** The parts of the upstream's stream: primer and comment, progress, response. */
function partsOf(id: number | string): readonly [string, string, string] {
  const [primer, progress, response] = streamText(id).split(/(?<=keep\n\n)|(?<=\r\n\r\n)/)
  return [primer!, progress!, response!]
}

async function through(fault: string, app: RequestListener = sseApp, headers = {}) {
  const stage = opened(await startSidecar({ rules: [oneFault(`stream: ${fault}`)], upstream: app }))
  return { stage, text: (await call({ ...stage, headers }, callMessage(1))).text }
}

/** Sends the parts one by one, each when the one before it is out, and stays open. */
const slowApp: RequestListener = (req, res) => {
  whenAsked(req, ([message]) => {
    res.setHeader('content-type', 'text/event-stream')
    const parts = partsOf(message!.id!)
    const next = (index: number): void => {
      if (index < parts.length) res.write(parts[index], () => setImmediate(() => next(index + 1)))
    }
    next(0)
  })
}

describe('damage to a stream', () => {
  const [primer, progress, response] = partsOf(1)

  it.each([
    ['{ drop: last }', primer + progress + MARK, 'injected'],
    ['{ drop: notifications }', primer + MARK + response, 'real'],
    ['{ duplicate: last }', primer + progress + response + MARK + response, 'real'],
    ['{ duplicate: 1 }', primer + progress + MARK + progress + response, 'real'],
    ['{ reorder: last }', primer + MARK + response + progress, 'real'],
    ['{ reorder: 1 }', primer + MARK + response + progress, 'real'],
    [
      '{ wrongId: other }',
      primer + progress + MARK + response.replace('"id":1', '"id":-2'),
      'injected',
    ],
    ['{ close: last }', primer + progress + MARK, 'injected'],
    ['{ close: all }', primer + MARK, 'injected'],
  ])('of %s leaves all other bytes', async (fault, text, origin) => {
    for (const headers of [{}, MODERN]) {
      const got = await through(fault, sseApp, headers)
      expect(got.text).toBe(text)
      expect(got.stage.counts()).toMatchObject({ injected: 1, not_applicable: 0 })
      expect(got.stage.injected).toHaveLength(1)
      expect(got.stage.active()).toBe(0)
      expect(await got.stage.origins()).toEqual([origin])
    }
  })

  it('is listed with its call, although the first of two copies ends the call', async () => {
    const watch = new CallWatch()
    const rules = [oneFault('stream: { duplicate: last }')]
    const stage = opened(await startSidecar({ rules, upstream: sseApp, watch }))
    const ended = new Promise<CallLine>((resolve) => watch.read(resolve))
    await call(stage, callMessage(1))
    const { outcome, changed, faults } = await ended
    const listed = [{ rule: 'bad', fault: 'stream' }]
    expect({ outcome, changed, faults }).toEqual({ outcome: 'ok', faults: listed })
  })

  it.each([
    ['{ close: last }', primer + progress + MARK],
    ['{ close: 1 }', primer + MARK],
  ])(
    'of %s ends what the upstream leaves open, and lets go of the upstream',
    async (fault, text) => {
      let appGone: Promise<unknown> | undefined
      const app: RequestListener = (req, res) => {
        appGone = once(res, 'close')
        slowApp(req, res)
      }
      const got = await through(fault, app)
      expect(got.text).toBe(text)
      await appGone
      expect(await got.stage.origins()).toEqual(['injected'])
    },
  )

  it.each([
    '{ drop: all }',
    '{ duplicate: all }',
    '{ reorder: all }',
    '{ split: all }',
    '{ close: all }',
  ])('of %s is not for a response in JSON, which stays as it was', async (fault) => {
    const { stage, text } = await through(fault, jsonApp)
    expect(text).toBe(resultText(1))
    expect(stage.notApplicable).toMatchObject([{ fault: 'stream', reason: 'nothing_to_act_on' }])
    expect(stage.counts()).toMatchObject({ injected: 0, not_applicable: 1 })
    expect(await stage.origins()).toEqual(['real'])
  })

  it('of a wrong id is done to JSON as well', async () => {
    const { stage, text } = await through('{ wrongId: type }', jsonApp)
    expect(text).toBe(resultText('1'))
    expect(stage.counts()).toMatchObject({ injected: 1 })
    expect(await stage.origins()).toEqual(['injected'])
  })

  it('is done to a coded stream, which is sent plain', async () => {
    const { text } = await through('{ drop: notifications }', (req, res) => {
      req.resume()
      res.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
      res.end(gzipSync(streamText(1)))
    })
    expect(text).toBe(primer + MARK + response)
  })

  it.each([
    ['{ drop: last }', (own: readonly string[]) => own[0]! + own[1]!],
    ['{ duplicate: last }', (own: readonly string[]) => own.join('') + MARK + own[2]!],
    ['{ wrongId: type }', (own: readonly string[]) => own.join('').replace(resultText(2), MARK)],
  ])('of %s is done to one call of a batch, and to no other', async (fault) => {
    const stage = opened(
      await startSidecar({ rules: [oneFault(`stream: ${fault}`)], upstream: sseApp }),
    )
    const got = await call(stage, [callMessage(1, 'other'), callMessage(2)])
    const plain = got.text.replaceAll(MARK, '')
    const responses = plain.split(resultText(2)).length - 1
    expect(responses).toBe(fault.includes('duplicate') ? 2 : 0)
    expect(plain.split(resultText(1))).toHaveLength(2)
    expect(stage.counts()).toMatchObject({ injected: 1 })
    expect(await stage.origins('other')).toEqual(['real'])
  })
})

describe('a stream whose events change places', () => {
  it('lets go of what it holds when the rule is taken back', async () => {
    let more: (() => void) | undefined
    const [primer, progress, response] = partsOf(1)
    const stage = opened(
      await startSidecar({
        rules: [oneFault('stream: { reorder: last }')],
        upstream: (req, res) => {
          whenAsked(req, () => {
            res.setHeader('content-type', 'text/event-stream')
            res.write(primer + progress)
            more = () => res.end(response)
          })
        },
      }),
    )
    const client = await RawClient.connect(stage.port)
    await client.send(toolCall(1), 'POST')
    expect(await client.sees('keep')).toBe(true)
    expect(client.text).not.toContain('notifications/progress')
    stage.disarm()
    expect(await client.sees('notifications/progress')).toBe(true)
    more!()
    expect((await client.response())!.body.toString()).toBe(streamText(1))
    expect(stage.injected).toEqual([])
    client.close()
  })

  it('is let go of when the client leaves', async () => {
    let appGone: Promise<unknown> | undefined
    const stage = opened(
      await startSidecar({
        rules: [oneFault('stream: { reorder: last }')],
        upstream: (req, res) => {
          appGone = once(res, 'close')
          whenAsked(req, () => {
            res.setHeader('content-type', 'text/event-stream')
            res.write(streamText(1).split('id: 2')[0])
          })
        },
      }),
    )
    const client = await RawClient.connect(stage.port)
    await client.send(toolCall(1), 'POST')
    await client.sees('keep')
    client.reset()
    await stage.settled()
    await appGone
    expect(stage.active()).toBe(0)
    expect(stage.counts()).toMatchObject({ injected: 0 })
  })
})

describe('events in pieces', () => {
  it('arrive one by one, with pauses, and are the same bytes', async () => {
    const fault = 'stream: { split: last, pieces: 4, pause: 30ms }'
    const stage = opened(await startSidecar({ rules: [oneFault(fault)], upstream: sseApp }))
    const start = performance.now()
    const res = await post(stage, callMessage(1))
    const sizes: number[] = []
    res.on('data', (part: Buffer) => sizes.push(part.length))
    expect(await textOf(res)).toBe(streamText(1))
    expect(performance.now() - start).toBeGreaterThanOrEqual(85)
    // A busy client reads two of them at once; the pauses below are exact.
    expect(sizes.length).toBeGreaterThan(1)
    expect(stage.counts()).toMatchObject({ injected: 1 })
    expect(stage.injected.map(({ delayMs, first }) => [delayMs, first])).toEqual([
      [30, true],
      [30, false],
      [30, false],
    ])
    expect(await stage.origins()).toEqual(['real'])
  })

  it.each(['disarm', 'drain'] as const)('are whole at once on %s', async (how) => {
    const fault = 'stream: { split: all, pause: 10m }'
    const stage = opened(await startSidecar({ rules: [oneFault(fault)], upstream: sseApp }))
    const text = textOf(await post(stage, callMessage(1)))
    await stage.until(() => stage.injected.length === 1)
    if (how === 'disarm') stage.disarm()
    else void stage.drain()
    expect(await text).toBe(streamText(1))
    expect(stage.injected).toHaveLength(1)
    expect(stage.active()).toBe(0)
  })

  it('are not waited for when the client leaves', async () => {
    const fault = 'stream: { split: all, pause: 10m }'
    const stage = opened(await startSidecar({ rules: [oneFault(fault)], upstream: sseApp }))
    const client = await RawClient.connect(stage.port)
    await client.send(toolCall(1), 'POST')
    await stage.until(() => stage.injected.length === 1)
    client.reset()
    await stage.settled()
    expect(stage.active()).toBe(0)
    expect(await stage.origins()).toEqual(['injected'])
  })
})

it.each([
  'stream: { drop: last }',
  'stream: { close: last }',
  'stream: { wrongId: other }',
  'corrupt',
])('is injected with %s in a rule about HTTP', async (fault) => {
  const rules = [oneFault(fault, 'match: { http: { path: /mcp } }')]
  const stage = opened(await startSidecar({ rules, upstream: sseApp }))
  await call(stage, callMessage(1))
  expect(await stage.origins()).toEqual(['injected'])
})
