import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { eventResponse, eventMessage } from '../../src/mcp/event-message.ts'
import type { SseFields } from '../../src/mcp/sse-fields.ts'

const frame = (fields: Partial<SseFields>): SseFields => ({
  event: undefined,
  id: undefined,
  retry: undefined,
  data: undefined,
  ...fields,
})
const RESULT = '{"jsonrpc":"2.0","id":0,"result":{}}'

test.each([undefined, '', 'message'])('an event named %j carries a message', (event) => {
  expect(eventMessage(frame({ event, data: RESULT }))).toEqual({
    kind: 'result',
    id: 0,
    result: {},
  })
})

test.each([
  ['a comment', {}],
  ['a primer', { id: 'e0', data: '' }],
  ['an event of another name', { event: 'endpoint', data: RESULT }],
  ['a name in other letters', { event: 'Message', data: RESULT }],
  ['data that is no JSON', { data: '{"jsonrpc"' }],
  ['JSON that is no message', { data: '{"id":0,"result":{}}' }],
  ['a batch', { data: `[${RESULT}]` }],
])('%s carries none', (_what, fields) => {
  expect(eventMessage(frame(fields))).toBeUndefined()
})

/** A name as JSON may spell it: letters as they are, or by their numbers. */
const spelt = (name: string): fc.Arbitrary<string> =>
  fc.array(fc.boolean(), { minLength: name.length, maxLength: name.length }).map((byNumber) =>
    name
      .split('')
      .map((letter, i) =>
        byNumber[i] ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}` : letter,
      )
      .join(''),
  )

test('no response is missed by looking for its name first', () => {
  const names = ['result', 'error', 'method', 'params', 'id', 'resulting']
  const member = fc.oneof(...names.map(spelt))
  const value = fc.constantFrom('1', '"a"', 'null', '{}', '{"code":1,"message":"result"}', '[')
  const more = fc.array(fc.tuple(member, value), { maxLength: 4 })
  fc.assert(
    fc.property(more, (members) => {
      const rest = members.map(([name, of]) => `,"${name}":${of}`).join('')
      const event = frame({ data: `{"jsonrpc":"2.0"${rest}}` })
      const message = eventMessage(event)
      const responses = message?.kind === 'result' || message?.kind === 'error'
      expect(eventResponse(event)).toEqual(responses ? message : undefined)
    }),
    { numRuns: 2000 },
  )
})
