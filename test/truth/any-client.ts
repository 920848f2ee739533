import { get, post } from '../accounting/stage.ts'
import { type ClientResponse, RawClient } from '../support/wire.ts'
import { howLine, idsOf } from './any-app.ts'
import type { AnyExchange } from './any-traffic.ts'

/** The result that a client got, in a form that can be compared. */
export type Got =
  | { readonly kind: 'left' }
  /** The stream by which its response would have come did not open. */
  | { readonly kind: 'no stream' }
  | { readonly kind: 'hung' }
  | { readonly kind: 'answered'; readonly response: unknown; readonly pushed: string }

/** Longer than everything that was asked for takes. */
const PATIENCE = 8_000
/** A stream that has not begun by then has met a fault. */
const OPENS = 500

/** Returns the number of calls in an exchange. */
export function callsOf({ kind, ids }: AnyExchange): number {
  if (kind === 'batch') return idsOf({ kind, ids } as AnyExchange).length
  return kind === 'call' || kind === 'push' || kind === 'list' || kind === 'begin' ? 1 : 0
}

/** Makes an exchange and returns its result. */
export async function exchangeBy(port: number, how: AnyExchange, session: string): Promise<Got> {
  const lines = `Mcp-Session-Id: ${session}\r\n${how.marked ? 'X-Hit: yes\r\n' : ''}${howLine(how)}`
  let stream: RawClient | undefined
  if (how.kind === 'push') {
    stream = await RawClient.connect(port)
    await stream.send(get(`/sse?s=${session}`, lines), 'GET')
    const opened = stream.sees('data: /message')
    if ((await within(OPENS, Promise.race([opened, stream.response()]))) !== true) {
      stream.close()
      return { kind: 'no stream' }
    }
  }
  const client = await RawClient.connect(port)
  const method = how.kind === 'page' || how.kind === 'listen' ? 'GET' : 'POST'
  await client.send(requestOf(how, session, lines), method)
  if (how.leaves !== undefined && how.kind !== 'push') {
    if (how.leaves.when === 'head') await soon(Promise.race([client.head(), client.response()]))
    // A reset at once could overtake the request.
    if (how.leaves.when === 'head' && how.leaves.how === 'reset') client.reset()
    else client.close()
    return { kind: 'left' }
  }
  const given = await soon(client.response().then((response) => ({ response })))
  if (given === undefined) return { kind: 'hung' }
  const pushed = stream === undefined ? '' : await pushedBy(stream, idsOf(how)[0]!)
  client.close()
  stream?.close()
  return { kind: 'answered', response: summary(given.response), pushed }
}

function requestOf(how: AnyExchange, session: string, lines: string): string {
  const { kind, tool } = how
  const params =
    kind === 'begin'
      ? '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}'
      : kind === 'list'
        ? '{}'
        : `{"name":"${tool}","arguments":{"n":1}}`
  const called = { begin: 'initialize', list: 'tools/list' }[kind as string] ?? 'tools/call'
  const calls = idsOf(how).map(
    (id) => `{"jsonrpc":"2.0","id":${id},"method":"${called}","params":${params}}`,
  )
  switch (kind) {
    case 'page':
      return `GET /${tool === 'hit' ? 'page' : 'free'} HTTP/1.1\r\nHost: pod\r\n${lines}\r\n`
    case 'post':
      return `POST /page HTTP/1.1\r\nHost: pod\r\nContent-Type: text/plain\r\n${lines}Content-Length: 2\r\n\r\nhi`
    case 'listen':
      return get('/mcp', lines)
    case 'note':
      return post({ jsonrpc: '2.0', method: 'notifications/initialized' }, lines)
    case 'push':
      return post(calls[0], lines, `/message?s=${session}`)
    case 'batch':
      return post(`[${calls.join()}]`, lines)
    case 'call':
    case 'list':
    case 'begin':
    default:
      return post(calls[0], lines)
  }
}

/** Returns the bytes of the stream, up to the response if the response comes soon. */
async function pushedBy(stream: RawClient, id: string): Promise<string> {
  await within(1_500, stream.sees(Buffer.from(`"id":${id},`).toString('latin1')))
  return stream.text.slice(stream.text.indexOf('\r\n\r\n'))
}

function summary(response: ClientResponse | undefined): unknown {
  if (response === undefined) return undefined
  const { startLine, framing, body, trailers, complete } = response
  // Headers about the connection belong to each hop.
  const headers = response.headers.filter((_, index, all) => {
    return !['connection', 'keep-alive'].includes(all[index - (index % 2)]!.toLowerCase())
  })
  return { startLine, headers, framing, body: body.toString('latin1'), trailers, complete }
}

function soon<T>(promise: Promise<T>): Promise<T | undefined> {
  return within(PATIENCE, promise)
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
