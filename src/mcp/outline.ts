import { parseOutline } from '../base/json/json-scan.ts'
import { fieldsOf } from '../base/values.ts'
import { messagesOf } from './json-rpc.ts'
import type { ReadMessages } from './read-messages.ts'

/**
 * The members of a response that decide nothing about its call, unless the result is an error. A
 * reader that needs one of them removes it here.
 */
const UNREAD: ReadonlySet<string> = new Set([
  'result.content',
  'result.structuredContent',
  'result.contents',
  'result.messages',
  'params.data',
])

/**
 * Reads the message of a large response without the members that decide nothing. Returns undefined
 * for a text that a parser should read: a small, damaged or unusual one, or an error.
 */
export function outlineOf(pieces: readonly Uint8Array[], size: number): ReadMessages | undefined {
  const messages = messagesOf(parseOutline(pieces, size, UNREAD))
  const message = messages?.[0]
  if (message === undefined || message.kind === 'error') return undefined
  // The text of the error is in the content.
  if (message.kind === 'result' && fieldsOf(message.result)['isError'] === true) return undefined
  return { batch: false, messages: [message] }
}
