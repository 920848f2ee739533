import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { FedSocket } from './fed-socket.ts'

/** A request as node:http understood it. */
export interface NodeRequest {
  /** The event that reported the request: anything but `request` is more than a plain one. */
  readonly event: string
  readonly request: IncomingMessage
  readonly keepAlive: boolean
  /** The bytes of the body that arrived, and whether the body is complete. */
  readonly body: string
  readonly whole: boolean
}

/** The bytes of one connection as node:http reads them. */
export interface NodeReading {
  readonly requests: readonly NodeRequest[]
  /** The code of the error with which node:http rejected the rest. */
  readonly refusal: string | undefined
}

interface Seen {
  readonly event: string
  readonly request: IncomingMessage
  readonly keepAlive: boolean
}

/** Reads connections with the strict parser of the running Node, as fast as it can be called. */
export function nodeReader(maxHeaderSize: number): (bytes: Buffer) => NodeReading {
  let seen: Seen[] = []
  let refusal: string | undefined
  const note =
    (event: string) =>
    (request: IncomingMessage, response?: unknown): void => {
      const { shouldKeepAlive } = (response ?? {}) as Partial<ServerResponse>
      seen.push({ event, request, keepAlive: shouldKeepAlive === true })
    }
  const server = createServer({ insecureHTTPParser: false, maxHeaderSize: maxHeaderSize })
  server.maxHeadersCount = 0
  for (const event of ['request', 'checkContinue', 'checkExpectation'])
    server.on(event, note(event))
  for (const event of ['upgrade', 'connect']) server.on(event, note(event))
  server.on('clientError', (error: NodeJS.ErrnoException) => {
    refusal = error.code ?? error.message
  })
  return (bytes) => {
    seen = []
    refusal = undefined
    const socket = new FedSocket()
    socket.on('error', () => undefined)
    server.emit('connection', socket)
    socket.feedData(bytes)
    const requests = seen.map(whatCame)
    socket.destroy()
    return { requests, refusal }
  }
}

function whatCame({ event, request, keepAlive }: Seen): NodeRequest {
  const body = request.read() as Buffer | null
  request.on('error', () => undefined)
  return {
    event,
    request,
    keepAlive,
    body: body === null ? '' : body.toString('latin1'),
    whole: request.complete,
  }
}
