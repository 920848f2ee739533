import type { Frame } from '../../src/filters/fault.ts'
import { toMessage } from '../../src/mcp/json-rpc.ts'

/** An event that carries a message; a result ends the call. */
export function event(message: object, id?: string): Frame {
  const line = id === undefined ? '' : `id: ${id}\r\n`
  const raw = Buffer.from(`${line}data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
  const read = toMessage({ jsonrpc: '2.0', ...message })
  return {
    kind: 'event',
    raw,
    message: read,
    last: read?.kind === 'result' || read?.kind === 'error',
  }
}

/** A progress event. */
export function progress(step: number): Frame {
  return event({ method: 'notifications/progress', params: { progressToken: 1, progress: step } })
}

/** The response to call 1, as an event. */
export const RESPONSE = event({ id: 1, result: { content: [] } })

/** A question of the upstream. */
export const QUESTION = event({ id: 9, method: 'sampling/createMessage' })

/** The event that opens a stream that can be resumed. */
export const PRIMER: Frame = {
  kind: 'event',
  raw: Buffer.from('id: 0\ndata: \n\n'),
  message: undefined,
  last: false,
}

/** A JSON body with these bytes. */
export function body(text: string): Frame {
  return { kind: 'body', raw: Buffer.from(text), message: toMessage(JSON.parse(text)), last: true }
}
