import { createReadStream } from 'node:fs'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Failure } from '../http/transfer.ts'
import { formatUpstream, type UpstreamAddress } from './address.ts'

/** Describes a wrong upstream setting, with its fix. */
export interface UpstreamProblem {
  readonly kind: 'speaks_tls' | 'loopback_only'
  readonly message: string
}

/** Configures a diagnosis. */
export interface DiagnosisOptions {
  readonly address: UpstreamAddress
  /** In milliseconds. */
  readonly now: () => number
  readonly found: (problem: UpstreamProblem) => void
}

/** The minimum time between two probes of an upstream, in milliseconds. */
const PAUSE = 10_000
const HANDSHAKE = 3_000
/** An upstream that did not speak TLS this often is not probed again. */
const MOST_PROBES = 3
const MOST_SOCKETS = 4 * 2 ** 20
const LISTENS = '0A'
const SOCKETS = ['/proc/net/tcp', '/proc/net/tcp6'] as const
/** Match loopback as the kernel writes it: each 32 bits in reverse byte order. */
const LOOPBACKS = [/^[0-9A-F]{6}7F$/, /^0{24}01000000$/, /^0{16}FFFF0000[0-9A-F]{6}7F$/]

/**
 * Finds out why an upstream gives no usable response to plain HTTP: it speaks TLS, or it listens on
 * loopback and is reached by the address of the pod. Probes only after a failure, seldom, and a
 * bounded number of times.
 */
export class UpstreamDiagnosis {
  readonly #options: DiagnosisOptions
  #probedAt = -Infinity
  #probes = 0
  #busy = false
  #closed = false

  constructor(options: DiagnosisOptions) {
    this.#options = options
  }

  /** Starts a probe after an exchange that failed, was cut, or ended with 400. */
  suspect(failure?: Failure): void {
    const { address, now } = this.#options
    if (address.kind !== 'tcp' || address.tls || this.#busy || this.#closed) return
    if (now() - this.#probedAt < PAUSE) return
    const isRefused = failure?.kind === 'connect'
    if (failure?.kind === 'overload' || (!isRefused && this.#probes >= MOST_PROBES)) return
    this.#probedAt = now()
    this.#busy = true
    void this.#probe(address, isRefused)
  }

  close(): void {
    this.#closed = true
  }

  async #probe(address: TcpAddress, isRefused: boolean): Promise<void> {
    try {
      const problem = await (isRefused ? this.#sockets(address) : this.#handshake(address))
      if (problem !== undefined && !this.#closed) this.#options.found(problem)
    } catch {
      // The cause stays unknown.
    } finally {
      this.#busy = false
    }
  }

  async #handshake(address: TcpAddress): Promise<UpstreamProblem | undefined> {
    if (!(await speaksTls(address))) {
      this.#probes++
      return undefined
    }
    this.#probes = 0
    return {
      kind: 'speaks_tls',
      message: `the upstream at ${formatUpstream(address)} speaks TLS, but receives plain HTTP: use https:// in --upstream; in a pod, set the annotations squall.dev/upstream-tls and squall.dev/tls-secret`,
    }
  }

  async #sockets(address: TcpAddress): Promise<UpstreamProblem | undefined> {
    const { host, port } = address
    if (!isOwnAddress(host) || !(await listensOnLoopbackAlone(port))) return undefined
    return {
      kind: 'loopback_only',
      message: `the upstream listens on port ${port} of loopback only, but is reached at ${host}: make it listen on all addresses, or use --upstream-host 127.0.0.1; in a pod, set the annotation squall.dev/upstream-host: 127.0.0.1`,
    }
  }
}

type TcpAddress = Extract<UpstreamAddress, { kind: 'tcp' }>

/** Returns true when the upstream responds to a TLS handshake, even with an alert. */
function speaksTls({ host, port }: TcpAddress): Promise<boolean> {
  const { connect } = process.getBuiltinModule('node:tls')
  return new Promise((resolve) => {
    const servername = isIP(host) === 0 ? host : ''
    // Nothing is sent after the handshake, so the certificate need not be verified.
    const socket = connect({ host, port, servername, rejectUnauthorized: false })
    const end = (result: boolean): void => {
      socket.destroy()
      resolve(result)
    }
    socket.setTimeout(HANDSHAKE, () => end(false))
    socket.once('secureConnect', () => end(true))
    socket.on('error', (error: NodeJS.ErrnoException) => end(/ALERT/.test(error.code ?? '')))
    socket.once('close', () => end(false))
  })
}

/** Returns true for addresses of this machine or pod that are not loopback. */
function isOwnAddress(host: string): boolean {
  return Object.values(networkInterfaces()).some((list) =>
    list?.some(({ address, internal }) => address === host && !internal),
  )
}

/** Returns true when every listener of a port is bound to loopback, and at least one exists. */
async function listensOnLoopbackAlone(port: number): Promise<boolean> {
  const hosts: string[] = []
  for (const path of SOCKETS) {
    for (const line of (await bounded(path)).split('\n')) {
      const [, local = '', , state] = line.trim().split(/\s+/)
      const [host = '', hex = ''] = local.split(':')
      if (state === LISTENS && Number.parseInt(hex, 16) === port) hosts.push(host)
    }
  }
  return hosts.length > 0 && hosts.every((host) => LOOPBACKS.some((each) => each.test(host)))
}

/** Reads a file that may not exist, up to a bound. */
async function bounded(path: string): Promise<string> {
  let text = ''
  try {
    for await (const part of createReadStream(path, { encoding: 'latin1', end: MOST_SOCKETS })) {
      text += String(part)
    }
  } catch {
    // The file exists on Linux only.
  }
  return text
}
