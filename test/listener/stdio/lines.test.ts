import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { EventLines, eventOf } from '../../../src/listener/stdio/event-lines.ts'
import { isBlank, LineSplitter, mayBeMessage } from '../../../src/listener/stdio/lines.ts'
import { ServerCheck } from '../../../src/listener/stdio/server-check.ts'
import { SseFramer } from '../../../src/mcp/sse-framer.ts'
import { SILENT } from '../../../src/telemetry/log.ts'

/** Bytes with many line endings, escapes and messages, in chunks. */
const chunks = fc.array(
  fc
    .array(
      fc.oneof(
        fc.constantFrom(
          '\n',
          '\r',
          '\r\n',
          '\x10',
          'data: ',
          ':>',
          '{"a":1}\n',
          '{"a":1}\r\n',
          'x',
        ),
        fc.uint8Array({ maxLength: 3 }),
      ),
    )
    .map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part as string)))),
)

function splitAll(parts: readonly Buffer[], limit: number) {
  const splitter = new LineSplitter(limit)
  const lines = parts.flatMap((chunk) => [...splitter.push(chunk)])
  return { lines, tail: splitter.end() }
}

it('keeps every byte of any stream, as events in one piece or torn anywhere', () => {
  fc.assert(
    fc.property(chunks, fc.integer({ min: 1, max: 12 }), fc.nat(7), (input, limit, cut) => {
      const { lines, tail } = splitAll(input, limit)
      const events = Buffer.concat([
        Buffer.from('event: endpoint\ndata: /\n\n'),
        ...lines.map(eventOf),
      ])
      const reader = new EventLines()
      const torn: Uint8Array[] = []
      for (let at = 0; at < events.length; at += cut + 1) {
        torn.push(...reader.read(events.subarray(at, at + cut + 1)))
      }
      const out = Buffer.concat([...torn, tail?.bytes ?? Buffer.alloc(0)])
      expect(out.equals(Buffer.concat(input))).toBe(true)
    }),
  )
})

it('makes one event of each line, whatever is in it', () => {
  fc.assert(
    fc.property(chunks, (input) => {
      const { lines } = splitAll(input, 1_000_000)
      for (const line of lines) {
        const framer = new SseFramer(1_000_000)
        const ends: boolean[] = []
        framer.push(eventOf(line), ({ data }) => ends.push(data === undefined))
        expect([ends.length, framer.between]).toEqual([1, true])
        expect(ends[0]).toBe(!mayBeMessage(line.bytes))
      }
    }),
  )
})

it('holds no more of a line than the limit', () => {
  const { lines, tail } = splitAll([Buffer.from('1234567'), Buffer.from('89\n{}\nab')], 4)
  expect(lines.map(({ kind, bytes }) => [kind, bytes.toString()])).toEqual([
    ['long', '1234567'],
    ['more', '89\n'],
    ['line', '{}\n'],
  ])
  expect(tail?.bytes.toString()).toBe('ab')
})

it('passes a line above the limit in the pieces in which it came, none of them large', () => {
  const pieces = Array.from({ length: 9 }, (_, at) => Buffer.alloc(64 * 1024, `${at}`))
  const { lines } = splitAll([...pieces, Buffer.from('\n')], 8 * 64 * 1024)
  expect(lines.map(({ kind }) => kind)).toEqual(['long', ...Array(9).fill('more')])
  expect(Math.max(...lines.map(({ bytes }) => bytes.length))).toBe(64 * 1024)
  expect(Buffer.concat(lines.map(({ bytes }) => bytes)).length).toBe(9 * 64 * 1024 + 1)
})

it('takes objects and arrays for messages, and white space for blank', () => {
  const lines = ['{}\n', ' [1]\r\n', 'x\n', '{"a":\r1}\n', '{}', '\n', ' \t\r\n'].map((line) =>
    Buffer.from(line),
  )
  expect(lines.map(mayBeMessage)).toEqual([true, true, false, false, true, false, false])
  expect(lines.map(isBlank)).toEqual([false, false, false, false, false, true, true])
})

it('suspects no id of the server after a long request whose first part is blank', () => {
  const check = new ServerCheck(10, SILENT)
  const request = Buffer.from('{"jsonrpc":"2.0","id":7,"method":"ping"}\n')
  for (const part of splitAll([Buffer.from(' '), request], 10).lines) check.fromClient(part)
  const bytes = Buffer.from('{"jsonrpc":"2.0","id":7,"result":{}}\n')
  check.fromServer({ kind: 'line', bytes })
  expect(check.counts.unknown_id).toBe(0)
})
