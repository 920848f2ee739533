import type { Socket } from 'node:net'
import symbols from 'undici/lib/core/symbols.js'
import { headerLines } from '../../../src/upstream/response-head.ts'
import { StatusLine } from '../../../src/upstream/status-line.ts'
import { undiciClient } from '../../../src/upstream/undici-module.ts'
import { FedSocket } from './fed-socket.ts'

/** The bytes of one response as undici reads them. */
export interface UndiciReading {
  /** The header blocks that undici reported, informational ones first. */
  readonly heads: readonly UndiciHead[]
  readonly body: string
  /** The place of the piece with which the response was whole. */
  readonly wholeWith: number | undefined
  readonly trailers: readonly string[]
  /** The connection would be used for another request. */
  readonly kept: boolean
  /** For how many milliseconds, then. */
  readonly keptFor: number
  /** It ended the connection, and the response was not whole. */
  readonly refused: boolean
}

/** A header block as undici reported it, with the reason from the bytes. */
export interface UndiciHead {
  readonly status: number
  readonly reason: string
  readonly headers: readonly string[]
}

/** The idle time of a connection for which the upstream announces none. */
export const DEFAULT_IDLE = 4_000
/** A connection is retired this long before the end that the upstream announces. */
export const RETIRE_BEFORE = 2_000

/** Gives undici the pieces of one response, set up as the upstream sets it up. */
export async function undiciReads(
  pieces: readonly Buffer[],
  maxHeaderSize: number,
): Promise<UndiciReading> {
  const socket = new FedSocket({ allowHalfOpen: true })
  const statusLine = new StatusLine()
  statusLine.attach(socket as unknown as Socket)
  statusLine.expect()
  const Client = undiciClient()
  const client = new Client('http://squall.invalid', {
    connect: (_options, callback) => {
      queueMicrotask(() => callback(null, socket as unknown as Socket))
    },
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: DEFAULT_IDLE,
    keepAliveTimeoutThreshold: RETIRE_BEFORE,
    maxHeaderSize: maxHeaderSize,
  })
  const heads: UndiciHead[] = []
  const body: Buffer[] = []
  let trailers: readonly string[] = []
  let whole = false
  await new Promise<void>((resolve) => {
    client.dispatch(
      { method: 'POST', path: '/' },
      {
        onConnect: () => resolve(),
        onHeaders: (status, lines, _resume, phrase) => {
          const reason = statusLine.reason ?? phrase
          heads.push({ status, reason, headers: headerLines(lines) })
          return true
        },
        onData: (chunk) => {
          body.push(chunk)
          return true
        },
        onComplete: (lines) => {
          whole = true
          trailers = lines === null ? [] : headerLines(lines)
        },
        onError: () => undefined,
      },
    )
  })
  let wholeWith: number | undefined
  for (let i = 0; i < pieces.length && !socket.destroyed; i++) {
    socket.feedReadable(pieces[i]!)
    if (whole) wholeWith ??= i
  }
  const kept = whole && !socket.destroyed
  const keptFor = (client as unknown as Record<symbol, number>)[symbols.kKeepAliveTimeoutValue]!
  const refused = !whole && socket.destroyed
  void client.destroy().catch(() => undefined)
  return {
    heads,
    body: Buffer.concat(body).toString('latin1'),
    wholeWith,
    trailers,
    kept,
    keptFor,
    refused,
  }
}
