import { gzipSync } from 'node:zlib'
import { setTimeout as sleep } from 'node:timers/promises'
import { event, LAST_CHUNK, streamHead } from '../accounting/stage.ts'
import { type AppExchange, chunk, type RawAppOptions, response, valueOf } from '../support/wire.ts'
import type { AnyExchange } from './any-traffic.ts'

type Piece = string | Buffer

const PROGRESS = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } }
/** Long enough for what was sent to be read, before a reset throws it away. */
const READ = 5

/** The header that controls the upstream. */
export function howLine(exchange: AnyExchange): string {
  return `X-How: ${encodeURIComponent(JSON.stringify(exchange))}\r\n`
}

/** Returns those of its ids that a request uses. */
export function idsOf({ kind, ids }: AnyExchange): readonly string[] {
  if (kind === 'batch') return ids.slice(0, 1 + (ids[0]!.length % 4))
  return ids.slice(0, 1)
}

/** An upstream that responds as each request specifies. */
export function anyApp(): RawAppOptions {
  const streams = new Map<string, AppExchange>()
  return {
    keepBytes: false,
    script: async (exchange) => {
      const { target, headers } = exchange.request
      const how = JSON.parse(decodeURIComponent(valueOf(headers, 'x-how')!)) as AnyExchange
      const stream = target.split('=')[1]
      if (stream === undefined) {
        await sendBroken(exchange, piecesOf(how), how)
      } else if (target.startsWith('/sse')) {
        streams.set(stream, exchange)
        const endpoint = `event: endpoint\ndata: /message?s=${stream}\n\n`
        await exchange.send([streamHead(), chunk(endpoint)])
      } else {
        await exchange.send([response('202 Accepted', [], '')])
        await streams.get(stream)!.send(idsOf(how).map((id) => rawEvent(resultOf(how, id))))
      }
    },
  }
}

async function sendBroken(
  exchange: AppExchange,
  pieces: readonly Piece[],
  { breaks }: AnyExchange,
): Promise<void> {
  if (breaks === undefined || breaks.after >= pieces.length) {
    await exchange.send(pieces)
    return
  }
  await exchange.send(pieces.slice(0, breaks.after))
  await sleep(READ)
  exchange[breaks.how]()
}

function piecesOf(how: AnyExchange): readonly Piece[] {
  if (how.kind === 'note') return [response('202 Accepted', [], '')]
  if (how.kind === 'listen') return [streamHead(), event(PROGRESS), event(PROGRESS), LAST_CHUNK]
  const isPlain = how.kind === 'page' || how.kind === 'post'
  const results = idsOf(how).map((id) => resultOf(how, id))
  const text = isPlain ? 'a page' : how.kind === 'batch' ? `[${results.join()}]` : results[0]!
  const type = isPlain ? 'text/plain' : 'application/json'
  switch (how.response) {
    case 'chunked':
      return [
        `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`,
        chunk(Buffer.from(text).subarray(0, 5)),
        chunk(Buffer.from(text).subarray(5)),
        LAST_CHUNK,
      ]
    case 'gzip':
      return halves(
        response('200 OK', ['Content-Type', type, 'Content-Encoding', 'gzip'], gzipSync(text)),
      )
    case 'sse':
    case 'sse with ids':
      return [
        streamHead(),
        event(PROGRESS, how.response === 'sse' ? undefined : 'e1'),
        chunk(': a comment\n\n'),
        ...(isPlain ? [] : results.map((result) => rawEvent(result))),
        LAST_CHUNK,
      ]
    case 'status':
      return halves(response('503 Busy', ['Content-Type', 'text/plain'], 'too busy'))
    case 'none':
      return [response('202 Accepted', [], '')]
    case 'json':
    case 'error':
    default:
      return halves(response('200 OK', ['Content-Type', type], text))
  }
}

function halves(bytes: Buffer): readonly Buffer[] {
  return [bytes.subarray(0, bytes.length - 7), bytes.subarray(bytes.length - 7)]
}

function rawEvent(text: string): Buffer {
  return chunk(`event: message\ndata: ${text}\n\n`)
}

/** As text, so that ids are those of the request to the letter. */
function resultOf({ kind, response: how, again }: AnyExchange, id: string): string {
  const member =
    how === 'error'
      ? '"error":{"code":-32000,"message":"real"}'
      : kind === 'list'
        ? '"result":{"tools":[{"name":"hit","inputSchema":{"type":"object"}},{"name":"free","inputSchema":{"type":"object"}}]}'
        : `"result": {"content":[{"type":"text","text":"{\\"value\\":1}"}], "structuredContent":{"value":${again === true ? 2 : 1}.0,"list":[{"a":"x"},2]}}`
  return `{"jsonrpc":"2.0","id":${id},${member}}`
}
