import { expect, test } from 'vitest'
import { failureOf } from '../../src/upstream/failure.ts'
import type { SocketState } from '../../src/upstream/undici-connection.ts'

const error = (code: string, message = 'm', name = 'Error'): Error =>
  Object.assign(new Error(message), { code, name })
const unreadable = error('HPE_INVALID_CONSTANT', 'm', 'HTTPParserError')

test.each<[string, SocketState, Error]>([
  ['reset', 'reset', error('ECONNRESET')],
  ['reset', 'reset', unreadable],
  ['protocol', 'broken', unreadable],
  ['protocol', 'broken', error('UND_ERR_RES_CONTENT_LENGTH_MISMATCH')],
  ['protocol', 'open', error('UND_ERR_HEADERS_OVERFLOW')],
  ['protocol', 'open', error('UND_ERR_SOCKET', 'bad upgrade')],
  ['closed', 'closed', error('HPE_INVALID_EOF_STATE', 'm', 'HTTPParserError')],
  ['closed', 'closed', error('UND_ERR_SOCKET', 'other side closed')],
  ['closed', 'open', error('UND_ERR_SOCKET', 'other side closed')],
  ['connect', 'open', error('SQUALL_CONNECT')],
  ['connect', 'closed', error('SQUALL_CONNECT')],
  ['closed', 'open', new Error('what is this')],
])('%s, by a socket that was %s and %s', (kind, state, cause) => {
  expect(failureOf(cause, state).kind).toBe(kind)
})

test('the reason for a failed connection is reported', () => {
  expect(failureOf(error('SQUALL_CONNECT', 'refused'), 'open').message).toBe('refused')
})
