import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { request as requestTls, type RequestOptions } from 'node:https'

/** A response, whole. */
export interface Called {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

/** Where and how to call; TLS when there is a CA to trust. */
export type Place = RequestOptions

/** A tools/call as a message. */
export function callMessage(id: number | string, name = 'echo'): object {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: {} } }
}

/** POSTs a message as an SDK does, and resolves with the head of the response. */
export async function post(place: Place, message: unknown): Promise<IncomingMessage> {
  const body = typeof message === 'string' ? message : JSON.stringify(message)
  const options = {
    path: '/mcp',
    agent: false,
    ...place,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'content-length': Buffer.byteLength(body),
      ...(place.headers as Record<string, string> | undefined),
    },
  }
  const req = place.ca === undefined ? request(options) : requestTls(options)
  req.end(body)
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  // A cut in the middle must not crash the test; Node 24 reports it to the request as well.
  req.on('error', () => undefined)
  res.on('error', () => undefined)
  return res
}

/** POSTs a message and reads the whole response. */
export async function call(place: Place, message: unknown): Promise<Called> {
  const res = await post(place, message)
  const text = await textOf(res)
  return { status: res.statusCode ?? 0, headers: res.headers, text }
}

/** Reads a response to its end. */
export async function textOf(res: IncomingMessage): Promise<string> {
  let text = ''
  res.setEncoding('utf8')
  for await (const part of res) text += part as string
  return text
}
