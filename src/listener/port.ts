import type { IncomingMessage, Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import type { Failure } from '../http/transfer.ts'
import type { Destination } from '../rules/match/call-facts.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { formatUpstream, type UpstreamAddress } from '../upstream/address.ts'
import { authorityOf, outboundUpstream } from '../upstream/outbound-upstream.ts'
import { UpstreamConnections } from '../upstream/http-upstream.ts'
import { createConnector, type Connector } from '../upstream/connector.ts'
import { UpstreamDiagnosis, type UpstreamProblem } from '../upstream/diagnosis.ts'
import type { DialledSockets } from '../upstream/dialled.ts'
import { probe } from '../upstream/probe.ts'
import { Tunnel, type TunnelEvents } from '../upstream/tunnel.ts'
import { rejectBadRequest } from './front/bad-request.ts'
import { cutSocket } from './front/cut-socket.ts'
import { HttpFront } from './front/http-front.ts'
import { ClosedPort } from './front/closed-port.ts'
import type { NewConnections } from './faults/session-control.ts'
import type { PortSessions } from './port-sessions.ts'
import { createStack, type OwnUpstream, type PortContext } from './port-stack.ts'
import type { PortTls } from './port-tls.ts'
import { PublicAddress } from './public-address.ts'
import type { RareLog } from './rare-log.ts'
import { rejectionOf } from './rejection.ts'
import type { Pair, SidecarOptions } from './sidecar-options.ts'

/** The result of a probe is reused for this long, in milliseconds. */
const PROBE_TTL = 1_000

/** Connects one listener with its upstream. */
export class Port {
  readonly upstreamName: string
  readonly isOutbound: boolean
  readonly #front: HttpFront
  readonly #own: OwnUpstream | undefined
  readonly #connections: UpstreamConnections
  readonly #tunnel: Tunnel
  readonly #sessions: PortSessions
  readonly #diagnosis: UpstreamDiagnosis
  readonly #connector: Connector
  readonly #telemetry: Telemetry
  readonly #rareLog: RareLog
  readonly #closing = new AbortController()
  #probedAt = -Infinity
  #trouble: Promise<string | undefined> = Promise.resolve(undefined)

  constructor(
    options: SidecarOptions,
    { upstream: address, isOutbound = false, keepsHost = !isOutbound }: Pair,
    tls: PortTls,
    context: PortContext,
    dialled?: DialledSockets,
  ) {
    const { telemetry, rareLog, memory } = context
    const { connectTimeout: timeout } = options
    this.isOutbound = isOutbound
    this.#telemetry = telemetry
    this.#rareLog = rareLog
    const own = (this.#own = isOutbound ? undefined : context.own)
    this.upstreamName = own?.name ?? formatUpstream(address)
    this.#connector = createConnector({ address, timeout, tls: tls.connect, dialled })
    const now: () => number = performance.now.bind(performance)
    this.#connections = new UpstreamConnections({
      address,
      fast: options.engine === 'fast',
      connector: this.#connector,
      reuse: options.upstreamReuse,
      idle: options.upstreamIdle,
      maxResponseHead: options.maxHeaderSize,
      maxConnections: options.maxUpstreamConnections,
      others: () => this.#tunnel.size,
      onConnections: (delta) => telemetry.gauge('upstream_connections', delta),
      now,
    })
    this.#diagnosis = new UpstreamDiagnosis({ address, now, found: this.#misconfigured })
    const host = keepsHost ? undefined : authorityOf(address)
    const { upstream: plain } = this.#connections
    const http = host === undefined ? plain : outboundUpstream(plain, host)
    const upstream = own?.upstream ?? http
    const publicUrl = isOutbound ? undefined : options.publicUrl
    const { exchanges, sessions } = createStack(options, context, {
      upstream,
      publicAddress: publicUrl === undefined ? undefined : new PublicAddress(publicUrl, address),
      streamTransport: 'http+sse',
      suspect: (failure) => options.diagnose !== false && this.#diagnosis.suspect(failure),
      outbound: isOutbound ? destinationOf(address) : undefined,
      newConnections: this.#newConnections(rareLog),
      closing: this.#closing.signal,
      serverName: this.upstreamName,
      now,
    })
    this.#sessions = sessions
    this.#tunnel = new Tunnel(this.#connector, options, this.#tunnelEvents(telemetry), host)
    const target = { ...exchanges, upgrade: this.#upgrade.bind(this) }
    this.#front = new HttpFront(options, target, telemetry, tls.listen, memory)
  }

  get server(): Server {
    return this.#front.server
  }

  /** Uses new TLS material from the next handshake on. */
  secure(material: SecureContextOptions): void {
    ;(this.#front.server as TlsServer).setSecureContext(material)
  }

  /**
   * Resolves to what is wrong with the upstream, undefined when it accepts connections; probes it
   * only without open connections.
   */
  async upstreamTrouble(): Promise<string | undefined> {
    if (this.#own !== undefined || this.#connections.connected > 0) return undefined
    const now = performance.now()
    if (now - this.#probedAt > PROBE_TTL) {
      this.#probedAt = now
      this.#trouble = probe(this.#connector)
    }
    return this.#trouble
  }

  sweep(now: number): void {
    this.#front.sweep(now)
    this.#connections.sweep(now)
    this.#sessions.sweep()
  }

  /** Resolves when every connection has ended. */
  async drain(): Promise<void> {
    this.#closing.abort()
    await this.#front.drain()
    this.#connections.close()
  }

  /** Ends all connections at once. */
  close(): void {
    this.#closing.abort()
    this.#front.close()
    this.#diagnosis.close()
    this.#sessions.inFlight.redirects.expire(Infinity)
    this.#tunnel.close()
    this.#connections.close()
  }

  #newConnections(rareLog: RareLog): NewConnections {
    let closed: ClosedPort | undefined
    return {
      resetWhile: (isDown) => this.#front.resetWhile(isDown),
      closePort: () => {
        closed ??= new ClosedPort(this.#front.server, this.#closing.signal, rareLog)
        return closed.close
      },
    }
  }

  #tunnelEvents(telemetry: Telemetry): TunnelEvents {
    return {
      opened: () => telemetry.gauge('tunnels', 1),
      closed: () => telemetry.gauge('tunnels', -1),
      responded: (status) => telemetry.http({ class: 'upgrade', status, origin: 'real' }),
      declined: (req, res, socket) => this.#front.decline(req, res, socket),
      failed: (failure, socket) => this.#upgradeFailed(failure, socket),
      broken: (socket) => cutSocket(socket, 'rst'),
    }
  }

  readonly #misconfigured = ({ kind, message }: UpstreamProblem): void => {
    this.#telemetry.rejected('upstream_misconfigured')
    this.#rareLog.warn(kind, message, 'the upstream is misconfigured')
  }

  #upgrade(req: IncomingMessage, socket: Socket, head: Buffer): void {
    if (this.#connections.hasCapacity) {
      this.#tunnel.carry(req, socket, head)
      return
    }
    const message = 'all upstream connections are in use'
    this.#telemetry.rejected('overload')
    this.#telemetry.http({ class: 'upgrade', status: 503, origin: 'squall' })
    rejectBadRequest(socket, { status: 503, reason: 'overload', message })
  }

  #upgradeFailed(failure: Failure, socket: Socket): void {
    if (failure.kind === 'reset' || failure.kind === 'closed') {
      this.#telemetry.http({ class: 'upgrade', status: 0, origin: 'real' })
      cutSocket(socket, failure.kind === 'reset' ? 'rst' : 'fin')
      return
    }
    const rejection = rejectionOf(failure)
    this.#rareLog.warn(rejection.reason, failure.message, 'responded instead of the upstream')
    this.#telemetry.rejected(rejection.reason)
    this.#telemetry.http({ class: 'upgrade', status: rejection.status, origin: 'squall' })
    rejectBadRequest(socket, rejection)
  }
}

function destinationOf(address: UpstreamAddress): Destination | undefined {
  return address.kind === 'tcp' ? { host: address.host, port: address.port } : undefined
}
