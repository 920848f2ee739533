import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { afterReads } from '../base/after-reads.ts'
import type { UpstreamAddress } from './address.ts'
import { type DialledSockets, noteDial } from './dialled.ts'

/** Reports that no connection to the upstream could be made. */
export class ConnectError extends Error {
  readonly code = 'SQUALL_CONNECT'
}

/**
 * Configures connections to the upstream. `tls` is called for each connection, so a swapped file
 * takes effect.
 */
export interface ConnectorOptions {
  readonly address: UpstreamAddress
  readonly timeout: number
  readonly tls: () => ConnectionOptions
  /** Keeps the connections that could be captured. */
  readonly dialled?: DialledSockets | undefined
}

/** Opens connections to the upstream, with a bound on the time it takes. */
export type Connector = (
  done: (error: Error | null, socket: Socket | null) => void,
  /** Receives the incoming bytes instead of the stream, on connections without TLS. */
  onread?: OnReadOpts,
) => Socket

/** Clients that hold a connection open for hours must notice when the other host has gone. */
const TCP_KEEP_ALIVE = 60_000

export function createConnector(options: ConnectorOptions): Connector {
  return (done, onread) => {
    const socket = open(options, onread)
    if (options.dialled !== undefined) noteDial(socket, options.dialled)
    const ready =
      options.address.kind === 'tcp' && options.address.tls ? 'secureConnect' : 'connect'
    const expire = (): void => {
      if (!socket.listeners(ready).includes(onReady)) return
      socket.destroy(new ConnectError(`no connection within ${options.timeout} ms`))
    }
    // After a pause of the process, timers come before the connections that were made meanwhile.
    const timer = setTimeout(afterReads, options.timeout, expire)
    const onReady = (): void => {
      clearTimeout(timer)
      socket.off('error', onError).off('close', onClose)
      done(null, socket)
    }
    const onError = (error: Error): void => {
      clearTimeout(timer)
      socket.off(ready, onReady).off('close', onClose)
      // Every error here is a connect error: nothing of the request was sent.
      done(error instanceof ConnectError ? error : connectError(error), null)
    }
    const onClose = (): void => onError(new ConnectError('closed while connecting'))
    socket.once(ready, onReady).once('error', onError).once('close', onClose)
    return socket
  }
}

function connectError(error: Error): ConnectError {
  // A name with several addresses fails once for each of them.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  const { message, code } = (first ?? error) as NodeJS.ErrnoException
  return new ConnectError(message === '' ? (code ?? 'no connection') : message, { cause: error })
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
    // undici decides when to reply to the upstream's FIN: see SocketGuard.
    allowHalfOpen: true,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE,
  }
  if (!address.tls) return connectTcp({ ...target, ...reading })
  const secure = tls()
  const servername = serverNameFor(address.host, secure)
  // Loaded with the first TLS connection: most upstreams are reached without TLS.
  const { connect } = process.getBuiltinModule('node:tls')
  return connect({ ...target, ALPNProtocols: ['http/1.1'], ...secure, servername })
}

/**
 * Returns the server name for a TLS handshake: the configured one, or the host, or '' for an IP
 * address.
 */
export function serverNameFor(host: string, { servername }: ConnectionOptions): string {
  return servername ?? (isIP(host) === 0 ? host : '')
}
