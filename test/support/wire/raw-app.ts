import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { valueOf, valuesOf, WireReader, type WireMessage } from './reader.ts'

/** The end of a connection, as this side observed it. */
export type CloseState = 'fin' | 'reset'

/** A request as the upstream received it. */
export interface AppRequest extends WireMessage {
  readonly method: string
  readonly target: string
  readonly version: string
  readonly connection: AppConnection
}

/** One connection that the upstream accepted. */
export interface AppConnection {
  readonly index: number
  readonly socket: Socket
  /** Every byte received, unless the upstream does not keep them. */
  readonly bytes: Buffer[]
  /** The violations that a strict reader found on this connection. */
  readonly violations: string[]
  readonly requests: AppRequest[]
  /** Resolves when the other side is gone. */
  readonly gone: Promise<CloseState>
  goneAt: number | undefined
  /** True when bytes of an unfinished request are left. */
  partial(): boolean
}

/** One request and the means to respond to it, byte by byte. */
export interface AppExchange {
  readonly request: AppRequest
  readonly connection: AppConnection
  readonly socket: Socket
  readonly gone: Promise<CloseState>
  /** Writes, and waits while the other side does not read. False once it is gone. */
  write(bytes: string | Buffer): Promise<boolean>
  /** Writes each piece in a turn of its own. */
  send(pieces: readonly (string | Buffer)[]): Promise<boolean>
  fin(): void
  reset(): void
  /** Resets when readers in this process have what was sent, as a reset discards the rest. */
  resetAfterReads(): Promise<void>
}

/** Responds to a request of the client. */
export type Script = (exchange: AppExchange) => void | Promise<void>

/** Settings of an upstream. */
export interface RawAppOptions {
  /** Responds to requests that name no script. */
  readonly script?: Script
  /** Called at the end of a request's head, before its body. */
  readonly onHead?: Script
  readonly port?: number
  readonly keepBytes?: boolean
  readonly keepBody?: boolean
}

/** An upstream made of plain sockets. */
export interface RawApp {
  readonly port: number
  readonly url: string
  readonly requests: AppRequest[]
  readonly connections: AppConnection[]
  /** Scripts by the value of the request header `x-script`. */
  readonly scripts: Map<string, Script>
  /** Resolves once `count` requests have arrived. */
  received(count: number): Promise<AppRequest>
  /** The violations that a strict reader found. */
  violations(): string[]
  close(): Promise<void>
}

/** A response as bytes. Framing headers are added only when `body` is given. */
export function response(
  status: string,
  headers: readonly string[] = [],
  body?: string | Buffer,
): Buffer {
  let head = `HTTP/1.1 ${status}\r\n`
  for (let i = 0; i + 1 < headers.length; i += 2) head += `${headers[i]!}: ${headers[i + 1]!}\r\n`
  if (body === undefined) return Buffer.from(`${head}\r\n`, 'latin1')
  const bytes = Buffer.from(body)
  return Buffer.concat([
    Buffer.from(`${head}Content-Length: ${bytes.length}\r\n\r\n`, 'latin1'),
    bytes,
  ])
}

/** Bytes as one chunk. */
export function chunk(bytes: string | Buffer): Buffer {
  const body = Buffer.from(bytes)
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')])
}

const plainResponse: Script = async (exchange) => {
  await exchange.write(response('200 OK', ['Content-Type', 'text/plain'], 'ok'))
}

/** Starts an upstream on a free port of the loopback interface. */
export async function rawServer(options: RawAppOptions = {}): Promise<RawApp> {
  const connections: AppConnection[] = []
  const requests: AppRequest[] = []
  const scripts = new Map<string, Script>()
  const waiters = new Set<() => void>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const connection = accept(socket, connections.length, options, {
      received: (request) => {
        requests.push(request)
        for (const wake of waiters) wake()
      },
      script: (request) =>
        scripts.get(valueOf(request.headers, 'x-script') ?? '') ?? options.script ?? plainResponse,
    })
    connections.push(connection)
  })
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    requests,
    connections,
    scripts,
    received: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (requests.length < count) return
          waiters.delete(check)
          resolve(requests[count - 1]!)
        }
        waiters.add(check)
        check()
      }),
    violations: () => connections.flatMap((connection) => connection.violations),
    close: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
      for (const { socket } of connections) socket.destroy()
      await closed
    },
  }
}

interface Hooks {
  received(request: AppRequest): void
  script(request: AppRequest): Script
}

function accept(
  socket: Socket,
  index: number,
  options: RawAppOptions,
  hooks: Hooks,
): AppConnection {
  let tellGone: (closeState: CloseState) => void = () => undefined
  const connection: AppConnection = {
    index,
    socket,
    bytes: [],
    violations: [],
    requests: [],
    gone: new Promise((resolve) => {
      tellGone = resolve
    }),
    goneAt: undefined,
    partial: () => !reader.idle,
  }
  const depart = (closeState: CloseState): void => {
    connection.goneAt ??= performance.now()
    tellGone(closeState)
  }
  let turn: Promise<void> = Promise.resolve()
  const serve = async (before: Promise<void>, request: AppRequest): Promise<void> => {
    await before
    await hooks.script(request)(exchangeOf(request, connection))
    if (wantsClose(request)) socket.end()
  }
  let current: AppRequest | undefined
  const reader: WireReader = new WireReader(
    { role: 'request', keepBody: options.keepBody !== false },
    {
      head: (message) => {
        current = asRequest(message, connection)
        if (options.onHead !== undefined) void options.onHead(exchangeOf(current, connection))
      },
      message: () => {
        const request = current!
        connection.requests.push(request)
        hooks.received(request)
        if (options.onHead !== undefined) return
        turn = serve(turn, request)
      },
    },
  )
  socket.on('data', (bytes: Buffer) => {
    if (options.keepBytes !== false) connection.bytes.push(bytes)
    if (connection.violations.length > 0) return
    try {
      reader.push(bytes)
    } catch (error) {
      connection.violations.push(String(error))
      socket.end(response('400 Bad Request', ['Connection', 'close'], 'refused by the upstream'))
    }
  })
  socket.on('end', () => {
    depart('fin')
    // Script or not, a response can still be written: the other side may have closed only its half.
    void turn.then(() => socket.end())
  })
  socket.on('error', () => depart('reset'))
  socket.on('close', () => depart('fin'))
  return connection
}

/** Keeps the message's identity, so that body and trailers show up in it as they arrive. */
function asRequest(message: WireMessage, connection: AppConnection): AppRequest {
  const [method, target, protocol] = message.startLine.split(' ') as [string, string, string]
  return Object.assign(message, { method, target, version: protocol.slice(5), connection })
}

function exchangeOf(request: AppRequest, connection: AppConnection): AppExchange {
  const { socket, gone } = connection
  const write = async (bytes: string | Buffer): Promise<boolean> => {
    if (socket.destroyed || socket.writableEnded) return false
    if (!socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)) {
      await drained(socket)
    }
    return !socket.destroyed
  }
  return {
    request,
    connection,
    socket,
    gone,
    write,
    send: async (pieces) => {
      for (const piece of pieces) {
        if (!(await write(piece))) return false
        await nextTurn()
      }
      return true
    },
    fin: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
    resetAfterReads: async () => {
      await afterReads()
      socket.resetAndDestroy()
    },
  }
}

/**
 * Resolves when all connections within this process have been read, also where one passes bytes on
 * to the next. A time alone could pass while the process stands still.
 */
export async function afterReads(): Promise<void> {
  await sleep(20)
  for (let turn = 0; turn < 5; turn++) await nextTurn()
}

/** Resolves when the socket can take more, or never will. */
export function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done)
      resolve()
    }
    socket.on('drain', done).on('close', done)
  })
}

function wantsClose(request: AppRequest): boolean {
  const tokens = valuesOf(request.headers, 'connection').join(',').toLowerCase()
  return tokens.includes('close') || (request.version === '1.0' && !tokens.includes('keep-alive'))
}
