import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { eachResponse, eventMessages, isResponse } from '../../src/mcp/event-message.ts'
import type { SseFields } from '../../src/mcp/sse-fields.ts'
import { rounds } from '../support/rounds.ts'

const frame = (fields: Partial<SseFields>): SseFields => ({
  event: undefined,
  id: undefined,
  retry: undefined,
  data: undefined,
  ...fields,
})
const RESULT = '{"jsonrpc":"2.0","id":0,"result":{}}'

test.each([undefined, '', 'message'])('an event named %j carries a message', (event) => {
  expect(eventMessages(frame({ event, data: RESULT }))).toEqual({
    batch: false,
    messages: [{ kind: 'result', id: 0, result: {} }],
  })
})

test('an array carries several', () => {
  const data = `[{"jsonrpc":"2.0","method":"a"}, ${RESULT}]`
  const { batch, messages } = eventMessages(frame({ data }))
  expect(batch).toBe(true)
  expect(messages.map(({ kind }) => kind)).toEqual(['notification', 'result'])
})

test.each([
  ['a comment', {}],
  ['a primer', { id: 'e0', data: '' }],
  ['an event of another name', { event: 'endpoint', data: RESULT }],
  ['a name in other letters', { event: 'Message', data: RESULT }],
  ['data that is not valid JSON', { data: '{"jsonrpc"' }],
  ['JSON that is no message', { data: '{"id":0,"result":{}}' }],
  ['an empty batch', { data: '[]' }],
  ['a batch with anything else', { data: `[${RESULT},{}]` }],
])('%s carries none', (_what, fields) => {
  expect(eventMessages(frame(fields)).messages).toEqual([])
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
      const text = `{"jsonrpc":"2.0"${rest}}`
      for (const data of [text, `[${text}]`, `[${RESULT},${text}]`]) {
        const event = { ...frame({ data }), raw: Buffer.from(`data: ${data}\n\n`) }
        const found: unknown[] = []
        eachResponse(event, (response) => found.push(response))
        expect(found).toEqual(eventMessages(event).messages.filter(isResponse))
      }
    }),
    { numRuns: rounds(500, 2000) },
  )
})
