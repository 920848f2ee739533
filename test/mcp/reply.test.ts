import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Call } from '../../src/mcp/call.ts'
import {
  asJson,
  asSseEvent,
  errorReply,
  isExactId,
  toolErrorReply,
  wantsSse,
} from '../../src/mcp/reply.ts'
import { isModern } from '../../src/mcp/protocol-version.ts'
import { SseFramer } from '../../src/mcp/sse-framer.ts'

const call = (protocolVersion?: string): Call => ({
  id: 0,
  method: 'tools/call',
  name: 'a',
  params: undefined,
  transport: 'streamable-http',
  protocolVersion,
  progressToken: undefined,
})
const parse = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString())

test('id and its type come back exactly, as JSON and as an event', () => {
  const id = fc.oneof(
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string(),
    fc.constant(null),
  )
  fc.assert(
    fc.property(id, fc.string(), (exact, message) => {
      const reply = errorReply({ id: exact, code: -32603, message })
      // -0 and 0 are one number in JSON.
      const whole = {
        jsonrpc: '2.0',
        id: exact === 0 ? 0 : exact,
        error: { code: -32603, message },
      }
      expect(parse(asJson(reply).bytes)).toEqual(whole)
      const events: unknown[] = []
      new SseFramer(1e6).push(asSseEvent(reply).bytes, ({ event, data }) => {
        expect(event).toBe('message')
        events.push(JSON.parse(data!))
      })
      expect(events).toEqual([whole])
    }),
  )
})

test('a tool error says that it is complete where the protocol version wants it', () => {
  const result = { content: [{ type: 'text', text: 'lost' }], isError: true }
  for (const protocolVersion of [undefined, '2025-11-25', 'DRAFT-2099', '2024-11-05']) {
    expect(toolErrorReply(call(protocolVersion), 'lost')).toEqual({ jsonrpc: '2.0', id: 0, result })
  }
  for (const protocolVersion of ['2026-07-28', '2027-01-01']) {
    expect(isModern(protocolVersion)).toBe(true)
    expect(toolErrorReply(call(protocolVersion), 'lost')).toMatchObject({
      result: { ...result, resultType: 'complete' },
    })
  }
})

test('error data stands only where it was given, and a batch of one stays a batch', () => {
  expect(errorReply({ id: 1, code: 1, message: 'm' })).not.toHaveProperty('error.data')
  expect(errorReply({ id: 1, code: 1, message: 'm', data: null })).toHaveProperty(
    'error.data',
    null,
  )
  expect(parse(asJson([errorReply({ id: 1, code: 1, message: 'm' })]).bytes)).toHaveLength(1)
})

test.each([
  ['text/event-stream', true],
  ['application/json, text/event-stream', false],
  ['text/event-stream, */*', false],
  ['text/event-stream, application/json;q=0', true],
  ['*/*', false],
  ['', false],
])('Accept %j wants an event stream: %s', (accept, wanted) => {
  expect(
    wantsSse({ method: 'POST', target: '/', version: '1.1', headers: ['Accept', accept] }),
  ).toBe(wanted)
})

test('an id that a double cannot hold is not exact', () => {
  expect([0, -1, 1.5, 'x', 2 ** 53 - 1].every(isExactId)).toBe(true)
  expect(isExactId(2 ** 53)).toBe(false)
})
