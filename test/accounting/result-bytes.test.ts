import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { oneFault } from '../faults/one-fault.ts'
import { PushApp } from '../faults/push-app.ts'
import { chunk, type StartOptions } from '../support/wire.ts'
import {
  failure,
  json,
  LAST_CHUNK,
  modern,
  post,
  request,
  result,
  Stage,
  streamHead,
} from './stage.ts'

let stage: Stage
afterEach(() => stage.close())

const CALL = post(request(7))
const ENDS = { 'tools/call echo: ok': 1 }
const NAME = 'squall_result_bytes'

/**
 * Calls the tool, whose response is this, and returns the sum of the sizes; checks that there is
 * one.
 */
async function measured(
  sent: readonly (string | Buffer)[],
  ends: object = ENDS,
  options: Omit<StartOptions, 'upstream'> = {},
  call = CALL,
): Promise<number> {
  stage = await Stage.open((exchange) => void exchange.send([...sent]), options)
  await stage.exchange(call)
  await stage.ends(ends as typeof ENDS)
  const lines = (await stage.lines(NAME)).filter(({ labels }) => labels['tool'] === 'echo')
  const of = (suffix: string): number =>
    lines.find(({ name }) => name === `${NAME}_${suffix}`)?.value ?? 0
  expect(of('count')).toBe(of('sum') === 0 ? 0 : 1)
  return of('sum')
}

const TEXT = JSON.stringify(result(7, { content: [{ type: 'text', text: 'ü'.repeat(300) }] }))
const BYTES = Buffer.byteLength(TEXT)
const EVENT = `event: message\ndata: ${TEXT}\n\n`

test('the size of a result is that of its JSON body', async () => {
  expect(await measured([json(TEXT)])).toBe(BYTES)
  const buckets = await stage.lines(NAME)
  const under = buckets.filter(({ value }) => value === 0).map(({ labels }) => labels['le'])
  expect(under).toEqual(['256'])
  expect(buckets.at(-4)!.labels['le']).toBe('16777216')
})

test('… before it was compressed', async () => {
  const coded = json(gzipSync(TEXT), '200 OK', ['Content-Encoding', 'gzip'])
  expect(await measured([coded])).toBe(BYTES)
})

test('… or of the event, without those before it', async () => {
  const before = chunk('data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n')
  const sent = [streamHead(), before, chunk(EVENT.slice(0, 99)), chunk(EVENT.slice(99)), LAST_CHUNK]
  expect(await measured(sent)).toBe(Buffer.byteLength(EVENT))
})

test('… or of the event on the stream of its session', async () => {
  const app = await PushApp.open([])
  stage = app.stage
  await app.listen('a')
  await app.call('a', 7)
  app.say(EVENT)
  await stage.ends(ENDS)
  const sum = (await stage.lines(NAME)).find(({ name }) => name.endsWith('_sum'))
  expect(sum!.value).toBe(Buffer.byteLength(EVENT))
})

test.each([
  ['a body', [json(TEXT)], BYTES],
  ['an event', [streamHead(), chunk(EVENT), LAST_CHUNK], Buffer.byteLength(EVENT)],
] as const)('%s that is too large to be read is measured', async (_, sent, bytes) => {
  expect(await measured(sent, ENDS, { maxBody: 300 })).toBe(bytes)
})

test('a result that says that it failed is one, and an error is none', async () => {
  const failed = result(7, { isError: true, content: [] })
  const ends = { 'tools/call echo: tool_error': 1 }
  expect(await measured([json(failed)], ends)).toBe(JSON.stringify(failed).length)
  await stage.close()
  expect(await measured([json(failure(7))], { 'tools/call echo: rpc_error': 1 })).toBe(0)
})

test('results of other methods are not measured', async () => {
  const list = post(request(7, 'tools/list', {}))
  expect(await measured([json(result(7))], { 'tools/list: ok': 1 }, {}, list)).toBe(0)
})

test.each([
  ['a body', [json(`[ ${TEXT} ,${JSON.stringify(failure(8))}]`)]],
  [
    'an event',
    [
      streamHead(),
      chunk(`data: [ ${TEXT} ,\ndata: ${JSON.stringify(failure(8))}]\n\n`),
      LAST_CHUNK,
    ],
  ],
])('the size of a result in %s with others is its own', async (_, sent) => {
  const ends = { 'tools/call echo: ok': 1, 'tools/call other: rpc_error': 1 }
  const both = [request(7), request(8, 'tools/call', { name: 'other' })]
  expect(await measured(sent, ends, {}, post(both))).toBe(BYTES)
})

test('the size is what the client gets: that of the result as a fault left it', async () => {
  const rules = [oneFault('inflate: { to: 5MiB, with: x }')]
  const bytes = await measured([json(TEXT)], ENDS, { rules })
  expect(bytes).toBe(BYTES + 5 * 1024 * 1024 - 600)
  await stage.close()
  const none = [oneFault('abort: { toolError: no }')]
  const ends = { 'tools/call echo: tool_error by injected': 1 }
  const injected = await measured([], ends, { rules: none }, post(modern(7)))
  expect(injected).toBeGreaterThan(50)
})
