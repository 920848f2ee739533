import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import type { Fault } from '../../src/filters/fault.ts'
import {
  call,
  callMessage,
  RawClient,
  type RuledOptions,
  type RuledSidecar,
  startSidecar,
  toolCall,
} from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { PushApp } from './push-app.ts'
import { resultText } from './apps.ts'
import { REPLACED } from './one-fault.ts'
import { stepsOf } from './thread-cpu.ts'

const opened = closers()

interface Got {
  readonly message: Record<string, unknown>
  readonly text: string
  readonly copy: string | undefined
  readonly names: readonly string[]
  readonly at: number
  readonly res: ServerResponse
}

interface CopyStage extends RuledSidecar {
  readonly got: Got[]
  received(count: number): Promise<void>
}

const copies = (count: number, spacing = 0): Fault => ({
  onRequest: (ctx) => {
    ctx.injected()
    return { kind: 'copies', copies: count, spacing }
  },
})

/** Responses to copies are slow and long, unless `answer` says otherwise. */
async function start(
  faults: readonly Fault[],
  more: Partial<RuledOptions> = {},
  response: (got: Got) => void = ({ res, message }) => res.end(resultText(message['id'] as string)),
): Promise<CopyStage> {
  const got: Got[] = []
  let wake: (() => void)[] = []
  const app: RequestListener = (req, res) => {
    let text = ''
    req.setEncoding('utf8').on('data', (part: string) => (text += part))
    req.on('end', () => taken(req, res, text))
  }
  const taken = (req: IncomingMessage, res: ServerResponse, text: string): void => {
    const copy = req.headers['x-squall-copy'] as string | undefined
    const message = JSON.parse(text) as Got['message']
    const names = Object.keys(req.headers)
    got.push({ message, text, copy, names, at: performance.now(), res })
    res.setHeader('content-type', 'application/json')
    response(got.at(-1)!)
    for (const each of wake.splice(0)) each()
  }
  const stage = await startSidecar({ rules: [REPLACED], faults, upstream: app, ...more })
  const received = async (count: number): Promise<void> => {
    while (got.length < count) await new Promise<void>((resolve) => wake.push(resolve))
  }
  const close = (): Promise<void> => {
    wake = []
    return stage.close()
  }
  return opened({ ...stage, got, received, close })
}

const TEXT =
  '{"method":"tools/call", "params":{"name":"echo","big":10000000000000000001,"id":1},"id" : 7,"jsonrpc":"2.0"}'

it('sends so many more, each with an id that no other has, and drops what is answered', async () => {
  const stage = await start([copies(3)])
  const got = await call({ ...stage, headers: { 'mcp-session-id': 's' } }, TEXT)
  expect(got.text).toBe(resultText(7))
  expect(got.headers['x-squall-fault']).toBe('r/delay')
  await stage.received(4)
  expect(stage.got[0]).toMatchObject({ text: TEXT, copy: undefined })
  const ids = stage.got.map(({ message }) => message['id'] as string)
  expect(new Set(ids).size).toBe(4)
  expect(new Set(stage.got.map(({ copy }) => copy))).toEqual(new Set([undefined, '1', '2', '3']))
  for (const [index, { text, names }] of stage.got.entries()) {
    if (index === 0) continue
    expect(ids[index]).toMatch(/^squall-copy-[0-9a-f]{12}-\d+$/)
    expect(text).toBe(TEXT.replace(' 7', ` ${JSON.stringify(ids[index])}`))
    expect(names).toContain('mcp-session-id')
  }
  expect(stage.counts()).toMatchObject({ matched: 1, injected: 1 })
  expect(stage.injected).toHaveLength(1)
  expect(stage.active()).toBe(0)
  expect(await stage.origins()).toEqual(['real'])
})

it.each([
  ['of a large call', 20, TEXT.replace('"big"', `"text":"${'\\u0041'.repeat(500_000)}","big"`)],
  ['of a batch', 30, `[${Array<string>(100).fill(TEXT).join()}]`],
])('serves other events between the copies %s', async (_, count, text) => {
  const stage = await start([copies(count)])
  const calls = [JSON.parse(text)].flat().length
  let most = Infinity
  // Milliseconds of CPU, which other load does not lengthen; a garbage collection may add to one
  // round. All copies at once took 0.2 s or more.
  for (let round = 1; round <= 3 && most >= 120; round++) {
    const sent = call(stage, text).then(() => stage.received(round * (1 + calls * count)))
    most = (await stepsOf(sent)).most
  }
  expect(most).toBeLessThan(120)
})

it('leaves the spacing between them, the call itself first', async () => {
  const stage = await start([copies(2, 40)])
  const from = performance.now()
  await call(stage, TEXT)
  await stage.received(3)
  expect(stage.got.map(({ copy }) => copy)).toEqual([undefined, '1', '2'])
  expect(stage.got[1]!.at - from).toBeGreaterThanOrEqual(38)
  expect(stage.got[2]!.at - from).toBeGreaterThanOrEqual(76)
})

it('sends copies on when the client has left', async () => {
  const stage = await start([copies(2, 30)], {}, () => undefined)
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await stage.received(1)
  client.reset()
  await stage.settled()
  await stage.received(3)
})

it.each(['retired', 'drained'] as const)('sends no more when all is %s', async (how) => {
  const stage = await start([copies(100, 20)])
  await call(stage, TEXT)
  await stage.received(2)
  if (how === 'retired') stage.disarm()
  else void stage.drain()
  const pause = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 80))
  await pause()
  const { length } = stage.got
  await pause()
  expect(stage.got).toHaveLength(length)
  expect(stage.broken).toEqual([])
})

it('lets the upstream finish a copy, and lets go of it when the sidecar drains', async () => {
  const stage = await start([copies(1)], {}, ({ res, copy, message }) => {
    if (copy === undefined) res.end(resultText(message['id'] as number))
    else res.write('x'.repeat(1 << 20))
  })
  await call(stage, TEXT)
  await stage.received(2)
  const { res } = stage.got[1]!
  // All of it is taken, though nobody wants it.
  if (res.writableNeedDrain) await once(res, 'drain')
  const gone = once(res, 'close')
  void stage.drain()
  await gone
})

it('copies one call of a batch as a message of its own', async () => {
  const stage = await start([copies(1)], {}, ({ res }) => res.end('[]'))
  await call(stage, `[${JSON.stringify(callMessage(1, 'other'))}, ${TEXT}]`)
  await stage.received(2)
  expect(stage.got[0]!.message).toHaveLength(2)
  expect(stage.got[1]!.message).toMatchObject({ method: 'tools/call', params: { name: 'echo' } })
})

it('copies what the upstream got, as other faults have edited it', async () => {
  const editing: Fault = {
    onRequest: () => ({ kind: 'edit', edit: (text) => text.replace('"big"', '"small"') }),
  }
  const stage = await start([copies(1), editing])
  await call(stage, TEXT)
  await stage.received(2)
  for (const { text } of stage.got) expect(text).toContain('"small"')
})

it('sends none of a call that another fault keeps from the upstream', async () => {
  const abort: Fault = {
    onRequest: () => ({ kind: 'respond', reply: { kind: 'toolError', text: 'x' } }),
  }
  const stage = await start([copies(2), abort])
  await call(stage, TEXT)
  expect(stage.got).toEqual([])
  expect(stage.notApplicable).toMatchObject([{ reason: 'call_not_sent' }])
  expect(stage.injected).toHaveLength(1)
  expect(stage.active()).toBe(0)
})

it('copies nothing that is answered on another connection', async () => {
  const app = opened(await PushApp.open([REPLACED], { faults: [copies(2)] }))
  await app.listen('s')
  await app.call('s', 1)
  expect(app.stage.app.requests.filter(({ method }) => method === 'POST')).toHaveLength(1)
  expect(app.faults.notApplicable).toMatchObject([{ reason: 'responded_elsewhere' }])
})
