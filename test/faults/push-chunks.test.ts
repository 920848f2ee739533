import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CallInjection, openInjection } from '../../src/listener/faults/call-injection.ts'
import { PushStream, PushStreams } from '../../src/listener/faults/source/push-streams.ts'
import { Stop } from '../../src/listener/faults/chain/stop.ts'
import type { Call } from '../../src/mcp/call.ts'
import { eventMessages, isResponse } from '../../src/mcp/event-message.ts'
import type { ResponseSink } from '../../src/http/transfer.ts'
import { SseFramer, type SseFrame } from '../../src/mcp/sse-framer.ts'
import { request, result } from '../accounting/stage.ts'
import { NO_CONTEXT } from './no-context.ts'
import { rounds } from '../support/rounds.ts'

const HEAD = { status: 200, reason: 'OK', headers: ['Content-Type', 'text/event-stream'] }
const OURS = 'data: ours\n\n'
const IDS = [1, 2, 3]

const call = (id: number): Call => ({
  id,
  method: 'tools/call',
  name: 'echo',
  params: {},
  transport: 'http+sse',
  protocolVersion: undefined,
  progressToken: undefined,
})

/** A call without a fault: its events pass unchanged. */
function pushedCall(id: number): CallInjection {
  const stop = new Stop()
  const failed = (_: unknown, error: unknown): never => {
    throw error
  }
  const listener = { ...NO_CONTEXT.listener, failed }
  return openInjection({ call: call(id) }, { ...NO_CONTEXT, listener }, stop)
}

/** One stream, and what the client has of it. */
function stage(limit: number) {
  const sent: Buffer[] = []
  const watch = new SseFramer(limit)
  const streams = new PushStreams(limit, 120_000)
  const sink: ResponseSink = {
    info: () => undefined,
    head: () => undefined,
    data: (bytes) => {
      sent.push(Buffer.from(bytes))
      watch.push(bytes, () => undefined)
      return true
    },
    end: () => undefined,
    fail: () => undefined,
  }
  const position = {
    get between() {
      return watch.between
    },
    fork: () => watch.fork(),
  }
  const stream = new PushStream(streams, undefined, { sink, position, post: () => undefined })
  stream.attach({ resume: () => undefined, abort: () => undefined })
  stream.head(HEAD)
  stream.join('/m', true)
  return { streams, stream, sent, text: () => Buffer.concat(sent).toString() }
}

const line = fc.constantFrom('\n', '\r\n', '\r')
const neighbour = fc
  .tuple(
    fc.constantFrom(': keep', `data: ${JSON.stringify(request(1, 'ping'))}`, 'data: a\0data: b'),
    fc.constantFrom('', 'id: x\0', 'event: message\0'),
    line,
  )
  .map(([text, before, end]) => (before + text).replaceAll('\0', end) + end + end)
const responses = fc
  .tuple(fc.constantFrom(...IDS), line, fc.constantFrom('', 'id: y\0'))
  .map(([id, end, before]) => {
    const text = `${before}data: ${JSON.stringify(result(id))}\0\0`
    return text.replaceAll('\0', end)
  })
const step = fc.oneof(
  { weight: 6, arbitrary: fc.nat(40).map((size) => ({ kind: 'bytes' as const, size })) },
  { weight: 2, arbitrary: fc.constantFrom(...IDS).map((id) => ({ kind: 'arm' as const, id })) },
  { weight: 1, arbitrary: fc.constantFrom(...IDS).map((id) => ({ kind: 'end' as const, id })) },
  { weight: 1, arbitrary: fc.constant({ kind: 'ours' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'turn' as const }) },
)

test('no byte is lost, ours stand between events, and what is not a call’s keeps its order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(neighbour, responses), { maxLength: 25 }),
      fc.array(step, { maxLength: 60 }),
      fc.constantFrom(30, 10_000),
      async (events, steps, limit) => {
        const { streams, stream, text } = stage(limit)
        const input = Buffer.from(events.join(''))
        const armed = new Map<number, CallInjection>()
        let at = 0
        let ours = 0
        for (const each of steps) {
          if (each.kind === 'bytes') {
            stream.data(input.subarray(at, at + each.size))
            at = Math.min(input.length, at + each.size)
          } else if (each.kind === 'arm' && !armed.has(each.id)) {
            const pushed = pushedCall(each.id)
            armed.set(each.id, pushed)
            expect(streams.arm('/m', pushed)).toBeUndefined()
          } else if (each.kind === 'end' && armed.has(each.id)) {
            streams.release('/m', armed.get(each.id)!, () => undefined)
            armed.delete(each.id)
          } else if (each.kind === 'ours') {
            if (streams.send('/m', Buffer.from(OURS), () => undefined)) ours++
          } else if (each.kind === 'turn') await new Promise(setImmediate)
        }
        stream.data(input.subarray(at))
        for (const pushed of armed.values()) streams.release('/m', pushed, () => undefined)
        await new Promise(setImmediate)
        stream.end([])
        await new Promise(setImmediate)
        expect(streams.size).toBe(0)
        const got = text()
        expect(got.split(OURS).length - 1).toBe(ours)
        expect(got.length).toBe(input.length + ours * OURS.length)
        const { own, ...theirs } = ordered(got)
        expect(own).toHaveLength(ours)
        expect({ own: [], ...theirs }).toEqual(ordered(input.toString()))
      },
    ),
    { numRuns: rounds(100, 400) },
  )
})

test('with nothing armed, chunks are what the upstream sent', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(neighbour, responses), { maxLength: 10 }),
      fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 20 }),
      (events, sizes) => {
        const { stream, sent } = stage(10_000)
        const input = Buffer.from(events.join(''))
        const chunks: string[] = []
        let at = 0
        for (const size of sizes) {
          const chunk = input.subarray(at, at + size)
          at += size
          if (chunk.length === 0) break
          chunks.push(chunk.toString())
          stream.data(chunk)
        }
        expect(sent.map(String)).toEqual(chunks)
      },
    ),
  )
})

/**
 * Splits the events of a stream into those that must keep their order: no event without an id waits
 * for one.
 */
function ordered(stream: string) {
  const frames: SseFrame[] = []
  new SseFramer(1e6).push(Buffer.from(stream), (frame) => {
    if (frame.data !== undefined) frames.push(frame)
  })
  const texts = (which: (frame: SseFrame) => boolean): readonly (string | undefined)[] =>
    frames.filter(which).map(({ data }) => data)
  return {
    own: texts(({ data }) => data === 'ours'),
    all: texts(({ data }) => data !== 'ours').toSorted(byText),
    withIds: texts(({ id }) => id !== undefined),
    others: texts(
      (frame) =>
        frame.id === undefined &&
        frame.data !== 'ours' &&
        !eventMessages(frame).messages.some(isResponse),
    ),
  }
}

function byText(a = '', b = ''): number {
  return a.localeCompare(b)
}
