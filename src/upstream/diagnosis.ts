import { createReadStream } from 'node:fs'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Failure } from '../http/transfer.ts'
import { formatUpstream, type UpstreamAddress } from './address.ts'

/** A mistake in how an app is reached, with what to do about it. */
export interface UpstreamProblem {
  readonly kind: 'speaks_tls' | 'loopback_only'
  readonly message: string
}

/** The parts that a diagnosis works with. */
export interface DiagnosisParts {
  readonly address: UpstreamAddress
  /** In milliseconds. */
  readonly now: () => number
  readonly found: (problem: UpstreamProblem) => void
}

/** An app is looked at no more often than this, in milliseconds. */
const PAUSE = 10_000
const HANDSHAKE = 3_000
/** After so many looks at an app that answers something else than TLS it is not looked at again. */
const MOST_LOOKS = 3
const MOST_SOCKETS = 4 * 2 ** 20
const LISTENS = '0A'
const SOCKETS = ['/proc/net/tcp', '/proc/net/tcp6'] as const
/** As the kernel writes them: each 32 bits the wrong way round. */
const LOOPBACKS = [/^[0-9A-F]{6}7F$/, /^0{24}01000000$/, /^0{16}FFFF0000[0-9A-F]{6}7F$/]

/**
 * Finds out why an app gives no usable response to plain HTTP: it speaks TLS, or it listens on loopback
 * and is reached by the address of the pod. Looks seldom, a bounded number of times, and only after
 * something failed.
 */
export class UpstreamDiagnosis {
  readonly #parts: DiagnosisParts
  #lookedAt = -Infinity
  #looks = 0
  #busy = false
  #closed = false

  constructor(parts: DiagnosisParts) {
    this.#parts = parts
  }

  /** An exchange got no response that can be used: it failed, was cut, or was called a bad request. */
  suspect(failure?: Failure): void {
    const { address, now } = this.#parts
    if (address.kind !== 'tcp' || address.tls || this.#busy || this.#closed) return
    if (now() - this.#lookedAt < PAUSE) return
    const isRefused = failure?.kind === 'connect'
    if (failure?.kind === 'overload' || (!isRefused && this.#looks >= MOST_LOOKS)) return
    this.#lookedAt = now()
    this.#busy = true
    void this.#look(address, isRefused)
  }

  close(): void {
    this.#closed = true
  }

  async #look(address: TcpAddress, isRefused: boolean): Promise<void> {
    try {
      const problem = await (isRefused ? this.#sockets(address) : this.#handshake(address))
      if (problem !== undefined && !this.#closed) this.#parts.found(problem)
    } catch {
      // Nothing was found out.
    } finally {
      this.#busy = false
    }
  }

  async #handshake(address: TcpAddress): Promise<UpstreamProblem | undefined> {
    if (!(await speaksTls(address))) {
      this.#looks++
      return undefined
    }
    this.#looks = 0
    return {
      kind: 'speaks_tls',
      message: `the app at ${formatUpstream(address)} speaks TLS, and is sent plain HTTP: begin --upstream with https://; in a pod, write the annotations squall.dev/upstream-tls and squall.dev/tls-secret`,
    }
  }

  async #sockets(address: TcpAddress): Promise<UpstreamProblem | undefined> {
    const { host, port } = address
    if (!isOwnAddress(host) || !(await listensOnLoopbackAlone(port))) return undefined
    return {
      kind: 'loopback_only',
      message: `the app listens on port ${port} of loopback alone, and is reached at ${host}: let it listen on every address, or use --upstream-host 127.0.0.1; in a pod, write the annotation squall.dev/upstream-host: 127.0.0.1`,
    }
  }
}

type TcpAddress = Extract<UpstreamAddress, { kind: 'tcp' }>

/** True when what answers a handshake speaks TLS, whether it agrees or not. */
function speaksTls({ host, port }: TcpAddress): Promise<boolean> {
  const { connect } = process.getBuiltinModule('node:tls')
  return new Promise((resolve) => {
    const servername = isIP(host) === 0 ? host : ''
    // Nothing is sent behind the handshake, so that whose certificate it is does not matter.
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

/** True for addresses of this machine, or pod, that are not loopback. */
function isOwnAddress(host: string): boolean {
  return Object.values(networkInterfaces()).some((list) =>
    list?.some(({ address, internal }) => address === host && !internal),
  )
}

/** True when something listens on a port, and only for clients of the same machine. */
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

/** The text of a file that may not be there. */
async function bounded(path: string): Promise<string> {
  let text = ''
  try {
    for await (const part of createReadStream(path, { encoding: 'latin1', end: MOST_SOCKETS })) {
      text += String(part)
    }
  } catch {
    // Elsewhere than on Linux there is no such file.
  }
  return text
}
