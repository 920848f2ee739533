import { gzipSync } from 'node:zlib'
import { afterReads, type AppExchange, chunk, response, valueOf } from '../support/wire.ts'
import { event, failure, json, LAST_CHUNK, result, streamHead } from './stage.ts'

/** A behaviour of an upstream, and the outcome of the call when its client waits. */
export interface Manner {
  readonly outcome: string
  response(exchange: AppExchange, ids: readonly unknown[]): Promise<unknown>
}

const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: {} }

function says(outcome: string, pieces: (id: unknown) => readonly (string | Buffer)[]): Manner {
  return { outcome, response: (exchange, [id]) => exchange.send(pieces(id)) }
}

/** Leaves the bytes time to be read: a reset throws away what was not. */
function breaks(outcome: string, pieces: (string | Buffer)[], how: 'fin' | 'reset'): Manner {
  return {
    outcome,
    async response(exchange) {
      await exchange.send(pieces)
      await afterReads()
      exchange[how]()
    },
  }
}

const half = 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"half"'
const gzip = (message: object): Buffer => gzipSync(`data: ${JSON.stringify(message)}\n\n`)

/** The upstream's behaviours for calls whose client waits for the end. */
export const MANNERS: Readonly<Record<string, Manner>> = {
  'json result': says('ok', (id) => [json(result(id))]),
  'json tool error': says('tool_error', (id) => [json(result(id, { isError: true }))]),
  'json error': says('rpc_error', (id) => [json(failure(id))]),
  'json of another': says('incomplete', () => [json(result('another'))]),
  'empty response': says('incomplete', () => [json('')]),
  accepted: says('incomplete', () => [response('202 Accepted', [], '')]),
  status: says('http_error', () => [response('503 Busy', [], 'busy')]),
  'cut json': breaks('incomplete', [half], 'fin'),
  'reset json': breaks('reset', [half], 'reset'),
  'no response': breaks('reset', [], 'reset'),
  'stream result': says('ok', (id) => [
    streamHead(),
    event(progress),
    event(result(id)),
    LAST_CHUNK,
  ]),
  'stream error': says('rpc_error', (id) => [streamHead(), event(failure(id)), LAST_CHUNK]),
  'stream twice': says('ok', (id) => [
    streamHead(),
    event(result(id)),
    event(failure(id)),
    LAST_CHUNK,
  ]),
  'stream of nothing': says('incomplete', () => [streamHead(), event(progress), LAST_CHUNK]),
  'cut stream': breaks('incomplete', [streamHead(), event(progress)], 'fin'),
  'reset stream': breaks('reset', [streamHead(), event(progress)], 'reset'),
  'gzip stream': says('tool_error', (id) => [
    streamHead('Content-Encoding: gzip\r\n'),
    chunk(gzip(result(id, { isError: true }))),
    LAST_CHUNK,
  ]),
  'primed stream': says('incomplete', () => [streamHead(), event(progress, 'e1'), LAST_CHUNK]),
}

/** The upstream's behaviours for requests that are distinguished by other means. */
const OTHERS: Readonly<
  Record<string, (exchange: AppExchange, ids: readonly unknown[]) => unknown>
> = {
  hold: () => undefined,
  'begin a stream': (exchange) => exchange.send([streamHead(), event(progress)]),
  'begin a primed stream': (exchange) => exchange.send([streamHead(), event(progress, 'e1')]),
  resume: (exchange) => {
    const id: unknown = JSON.parse(valueOf(exchange.request.headers, 'x-id') ?? 'null')
    return exchange.send([streamHead(), event(result(id), 'e2'), LAST_CHUNK])
  },
  batch: (exchange, ids) => exchange.send([json(ids.map((id) => result(id)))]),
  session: (exchange, [id]) =>
    exchange.send([json(result(id, {}), '200 OK', ['Mcp-Session-Id', String(id)])]),
  take: (exchange) => exchange.send([response('202 Accepted', [], '')]),
  'no stream': (exchange) => exchange.send([response('405 No', [], '')]),
}

/** An upstream that responds as each request specifies, and reports when it has begun. */
export class MixedApp {
  readonly #begun = new Map<string, () => void>()
  readonly #streams = new Map<string, AppExchange>()

  /** Resolves when the request with this marker has arrived. */
  begun(marker: string): Promise<void> {
    return new Promise((resolve) => void this.#begun.set(marker, resolve))
  }

  readonly script = async (exchange: AppExchange): Promise<void> => {
    const { headers, body, target } = exchange.request
    const how = valueOf(headers, 'x-how') ?? ''
    const marker = valueOf(headers, 'x-mark') ?? ''
    this.#begun.get(marker)?.()
    const session = target.split('=')[1] ?? ''
    if (target.startsWith('/sse')) {
      this.#streams.set(session, exchange)
      const endpoint = `event: endpoint\ndata: /message?session=${session}\n\n`
      await exchange.send([streamHead(), chunk(endpoint)])
      return
    }
    const ids = how === '' ? [] : idsIn(body)
    if (target.startsWith('/message')) {
      await exchange.send([response('202 Accepted', [], '')])
      if (how !== 'hold')
        await this.#streams.get(session)!.send([event({ jsonrpc: '2.0', result: {}, id: ids[0] })])
      return
    }
    const act = OTHERS[how]
    if (act !== undefined) await act(exchange, ids)
    else if (MANNERS[how] !== undefined) await MANNERS[how].response(exchange, ids)
    else await exchange.send([response('200 OK', [], 'page')])
  }
}

function idsIn(body: Buffer): unknown[] {
  if (body.length === 0) return []
  const message = JSON.parse(body.toString()) as { id: unknown } | { id: unknown }[]
  return [message].flat().map(({ id }) => id)
}
