import { expect, test } from 'vitest'
import { eventMessage } from '../../src/mcp/event-message.ts'
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
