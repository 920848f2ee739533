import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Disguise } from './disguises.ts'
import type { Called } from '../support/wire.ts'

/** Sends a disguised call as it stands, with more headers where they are asked for. */
export async function sendDisguise(
  port: number,
  { method = 'POST', type, headers = [], body }: Disguise,
  more: readonly string[] = [],
): Promise<Called> {
  const bytes = Buffer.from(body)
  const types = (type ?? ['application/json']).flatMap((value) => ['Content-Type', value])
  const lines = [...types, ...headers, ...more, 'Content-Length', String(bytes.length)]
  const req = request({
    port,
    host: '127.0.0.1',
    path: '/mcp',
    method,
    agent: false,
    headers: ['Host', `127.0.0.1:${port}`, ...lines],
  })
  req.end(bytes)
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  req.on('error', () => undefined)
  return { status: res.statusCode ?? 0, headers: res.headers, text: await text(res) }
}
