import { createServer, type Server, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { ANY_HOST, plainAddress } from '../../http/address.ts'
import type { Destination } from '../../rules/match/call-facts.ts'
import type { CompiledRule } from '../../rules/match/compiled-rule.ts'
import type { MatchedRule } from '../../rules/select/matched-rule.ts'
import { bind, type BoundAddress } from '../front/bind.ts'
import { cutSocket } from '../front/cut-socket.ts'
import type { ConnectionFaults } from './connection-faults.ts'
import { OutboundConnection, type OutboundParts } from './outbound-connection.ts'
import type { OutboundRoute, Target } from './target.ts'
import { TargetNames } from './target-names.ts'
import { isDialled } from '../../upstream/dialled.ts'

/** Connections of this process are captured, which would go on for ever. */
const OWN =
  'a connection of Squall itself was captured: run Squall with the GID of squall redirect --exempt-gid'
/** The label of destinations that no target names. */
const OTHER = 'other'
/** On a drain, a connection without traffic for this many milliseconds is idle. */
const IDLE = 500

/** A port in use is tried again after this many milliseconds. */
const RETRY = 500

/** Accepts outgoing connections of the pod, and carries them to dependencies. */
export class OutboundListener {
  readonly route: OutboundRoute
  readonly #parts: OutboundParts
  readonly #names: TargetNames
  readonly #connections = new Set<OutboundConnection>()
  readonly #waiting = new Set<Socket>()
  #server: Server | undefined
  #retry: NodeJS.Timeout | undefined
  #bound: BoundAddress | undefined
  /** The rule that keeps the listener closed. */
  #refusing: MatchedRule | undefined
  #isClosed = false
  #onEmpty: (() => void) | undefined

  constructor(route: OutboundRoute, parts: OutboundParts) {
    this.route = route
    this.#parts = parts
    this.#names = new TargetNames(route.targets)
    for (const { text } of route.targets) parts.counts.of(text)
  }

  async listen(): Promise<BoundAddress> {
    this.#bound = await this.#open()
    return this.#bound
  }

  /** Applies the rules that may act now to the listener and all connections. */
  refresh(rules: readonly CompiledRule[]): void {
    const { faults } = this.#parts
    if (faults !== undefined && this.#bound !== undefined && !this.#isClosed) this.#refuse(faults)
    for (const connection of this.#connections) connection.refresh(rules)
  }

  /** Counts the bytes since the last time. */
  sweep(now: number): void {
    for (const connection of this.#connections) connection.sweep()
    if (this.#onEmpty === undefined) return
    for (const connection of this.#connections) {
      if (connection.isIdle(now, IDLE)) connection.end()
    }
  }

  /** Stops accepting; resolves when all connections have ended, idle ones soon. */
  drain(): Promise<void> {
    this.#stop()
    return new Promise((resolve) => {
      if (this.#connections.size === 0) resolve()
      else this.#onEmpty = resolve
    })
  }

  /** Ends all connections at once. */
  close(): void {
    this.#stop()
    for (const socket of this.#waiting) socket.destroy()
    for (const connection of this.#connections) connection.cut('ok', 'real')
  }

  #stop(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    this.#server?.close()
    this.#refusing?.finish()
    this.#refusing = undefined
  }

  /** Closes the listener while a rule refuses all of its connections, so that the kernel does. */
  #refuse(faults: ConnectionFaults): void {
    const rule = faults.refusing(this.#destinations())
    if (rule === undefined) {
      if (this.#refusing === undefined) return
      this.#refusing.finish()
      this.#refusing = undefined
      this.#reopen()
      return
    }
    // A rule that takes the place of another one is counted by itself.
    if (this.#refusing !== undefined && this.#refusing.state !== faults.stateOf(rule)) {
      this.#refusing.finish()
      this.#refusing = undefined
    }
    if (this.#refusing === undefined) {
      const [destination] = this.#destinations()
      const match = faults.sample(rule, destination!)
      if (match?.begin() !== true) {
        match?.finish()
        return
      }
      this.#refusing = match
      this.#server?.close()
      this.#server = undefined
    }
    faults.acts(this.#refusing, this.#destinations()[0]!)
  }

  #destinations(): readonly Destination[] {
    const { targets, isCaptured } = this.route
    const named = targets.map(({ host, port }) => ({ host, port }))
    // A captured port may get connections to addresses that no target names.
    return isCaptured ? [...named, { host: undefined, port: targets[0].port }] : named
  }

  /** Listens again; another program may have taken the port meanwhile. */
  #reopen(): void {
    clearTimeout(this.#retry)
    if (this.#isClosed || this.#refusing !== undefined || this.#server !== undefined) return
    this.#open().catch((error: Error) => {
      this.#server = undefined
      this.#parts.rareLog.warn('outbound_listener', error.message, 'retrying to open a listener')
      this.#retry = setTimeout(() => this.#reopen(), RETRY).unref()
    })
  }

  async #open(): Promise<BoundAddress> {
    const options = { allowHalfOpen: true, noDelay: true, pauseOnConnect: true }
    const server = createServer(options, (socket) => this.#accept(socket))
    this.#server = server
    const { listen } = this.route
    const port = this.#bound?.port
    const bound = await bind(
      server,
      port === undefined || listen.kind === 'unix' ? listen : { ...listen, port },
    )
    if (this.#isClosed || this.#server !== server) server.close()
    return bound
  }

  #accept(client: Socket): void {
    const { maxConnections, rareLog, counts } = this.#parts
    if (this.#connections.size + this.#waiting.size >= maxConnections) {
      counts.of(this.route.targets[0].text).end('overload', 'real')
      rareLog.warn('overload', this.route.targets[0].text, 'too many outgoing connections')
      cutSocket(client, 'rst')
      return
    }
    if (!this.route.isCaptured) {
      const [target] = this.route.targets
      this.#carry(client, target, target.host)
      return
    }
    const address = plainAddress(client.remoteAddress ?? '')
    const { port } = this.route.targets[0]
    const isOwn = isDialled(this.#parts.dialled, address, port, client.remotePort)
    if (address === '' || isOwn || isOwnAddress(address)) {
      const detail = isOwn ? OWN : `a connection to ${address || 'no address'}`
      rareLog.warn('outbound_loop', detail, 'rejected a connection that was not captured')
      cutSocket(client, 'rst')
      return
    }
    this.#waiting.add(client)
    client.once('error', () => undefined).once('close', () => this.#waiting.delete(client))
    void this.#carryCaptured(client, address)
  }

  async #carryCaptured(client: Socket, address: string): Promise<void> {
    const target = await this.#names.of(address)
    if (this.#waiting.delete(client)) this.#carry(client, target, address)
  }

  #carry(client: Socket, target: Target | undefined, host: string): void {
    const { isCaptured, targets } = this.route
    if (target?.isHttp) {
      this.#parts.serve(target, client)
      client.resume()
      return
    }
    const isNamed = target !== undefined && target.host !== ANY_HOST
    const address = isCaptured ? host : undefined
    const destination = { host: isNamed ? target.host : address, port: targets[0].port, address }
    const counts = this.#parts.counts.of(target?.text ?? OTHER)
    const carried = { host, destination, counts, isCaptured }
    const connection = new OutboundConnection(this.#parts, client, carried, (ended) => {
      this.#connections.delete(ended)
      if (this.#connections.size === 0) this.#onEmpty?.()
    })
    this.#connections.add(connection)
    client.resume()
  }
}

function isOwnAddress(address: string): boolean {
  return Object.values(networkInterfaces()).some((all) =>
    all?.some((each) => each.address === address),
  )
}
