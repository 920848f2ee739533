import { createWriteStream } from 'node:fs'
import { appendFile, stat } from 'node:fs/promises'
import { once } from 'node:events'
import { written } from './recorded.ts'

export const MIB = 1024 * 1024
export const CALL = { at: 1, exchange: 1, from: 'client', id: 1, method: 'tools/call' }
export const RESULT = { at: 2, exchange: 1, from: 'server', via: 'json', id: 1 }

/** Calls a tool. */
export async function post(
  url: string,
  name: string,
  id: unknown = 7,
  args: object = {},
): Promise<Response> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  const message = { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(message) })
}

/** The start of the response with a large result to the id `grüße`. */
export const LARGE_START = /^\{"jsonrpc":"2.0","id":"grüße","result":\{"text":"xxx/

/** Writes a tape with one result, of so many MiB, whose line begins at `offset` if given. */
export async function writtenLarge(size: number, offset?: number): Promise<string> {
  const path = await written([{ ...CALL, params: { name: 'big', arguments: {} } }])
  const rest = offset === undefined ? 0 : offset - (await stat(path)).size
  if (rest > 0) await appendFile(path, `${' '.repeat(rest - 1)}\n`)
  await appendFile(path, `${JSON.stringify(RESULT).slice(0, -1)},"result":{"text":"`)
  const piece = Buffer.alloc(MIB, 'x')
  await appended(path, function* () {
    for (let i = 0; i < size; i++) yield piece
    yield '"}}\n'
  })
  return path
}

/** Appends pieces to a file, one after the other. */
export async function appended(
  path: string,
  pieces: () => Iterable<string | Buffer>,
): Promise<void> {
  const stream = createWriteStream(path, { flags: 'a' })
  for (const piece of pieces()) if (!stream.write(piece)) await once(stream, 'drain')
  stream.end()
  await once(stream, 'close')
}
