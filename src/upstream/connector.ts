import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { UpstreamAddress } from './address.ts'

/** No connection to the app could be made. */
export class ConnectError extends Error {
  readonly code = 'SQUALL_CONNECT'
}

/** How to reach the app. TLS material is asked for at each connection, so a swapped file takes effect. */
export interface ConnectorOptions {
  readonly address: UpstreamAddress
  readonly timeout: number
  readonly tls: () => ConnectionOptions
}

/** Opens connections to the app, with a bound on the time it takes. */
export type Connector = (
  done: (error: Error | null, socket: Socket | null) => void,
  /** Takes what arrives instead of the stream, where the connection is not TLS. */
  onread?: OnReadOpts,
) => Socket

/** Clients that hold a connection open for hours must notice when the other host has gone. */
const TCP_KEEP_ALIVE = 60_000

/** Makes the one way in which connections to an address are opened. */
export function createConnector(options: ConnectorOptions): Connector {
  return (done, onread) => {
    const socket = open(options, onread)
    const ready =
      options.address.kind === 'tcp' && options.address.tls ? 'secureConnect' : 'connect'
    const timer = setTimeout(() => {
      socket.destroy(new ConnectError(`no connection within ${options.timeout} ms`))
    }, options.timeout)
    const onReady = (): void => {
      clearTimeout(timer)
      socket.off('error', onError).off('close', onClose)
      done(null, socket)
    }
    const onError = (error: Error): void => {
      clearTimeout(timer)
      socket.off(ready, onReady).off('close', onClose)
      // However it went wrong, nothing of the request was sent.
      done(error instanceof ConnectError ? error : new ConnectError(reasonOf(error)), null)
    }
    const onClose = (): void => onError(new ConnectError('closed while connecting'))
    socket.once(ready, onReady).once('error', onError).once('close', onClose)
    return socket
  }
}

function reasonOf(error: Error): string {
  // A name with several addresses fails once for each of them.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  const { message, code } = (first ?? error) as NodeJS.ErrnoException
  return message === '' ? (code ?? 'no connection') : message
}

function open({ address, tls }: ConnectorOptions, onread: OnReadOpts | undefined): Socket {
  const reading = onread === undefined ? {} : { onread }
  if (address.kind === 'unix') {
    return connectTcp({ path: address.path, allowHalfOpen: true, ...reading })
  }
  const target = {
    host: address.host,
    port: address.port,
    noDelay: true,
    // The app's end is undici's to answer, at its own time: see the socket guard.
    allowHalfOpen: true,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE,
  }
  if (!address.tls) return connectTcp({ ...target, ...reading })
  const secure = tls()
  const servername = nameToAskFor(address.host, secure)
  // Loaded with the first connection that needs it: most apps are reached without.
  const { connect } = process.getBuiltinModule('node:tls')
  return connect({ ...target, ALPNProtocols: ['http/1.1'], ...secure, servername })
}

/** The name in a TLS handshake: as told, or else the host, which is none where it is an address. */
export function nameToAskFor(host: string, { servername }: ConnectionOptions): string {
  return servername ?? (isIP(host) === 0 ? host : '')
}
