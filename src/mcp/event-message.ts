import { toMessage } from './json-rpc.ts'
import type { Message } from './message.ts'
import type { SseFields } from './sse-fields.ts'

/** The JSON-RPC message that an event carries; undefined for comments, primers and anything else. */
export function eventMessage(frame: SseFields): Message | undefined {
  const { data, event } = frame
  if (data === undefined || data === '') return undefined
  if (event !== undefined && event !== '' && event !== 'message') return undefined
  try {
    return toMessage(JSON.parse(data))
  } catch {
    return undefined
  }
}
