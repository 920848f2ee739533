import { once } from 'node:events'
import { existsSync, lstatSync, unlinkSync } from 'node:fs'
import { connect, type Server } from 'node:net'
import { dirname } from 'node:path'
import { formatListen, type ListenAddress } from '../../http/address.ts'

/** The address of a bound listener. */
export interface BoundAddress {
  readonly text: string
  readonly host: string
  readonly port: number
}

/** Reports that a listener could not be bound. */
export class BindError extends Error {
  readonly code = 'SQUALL_BIND'
  readonly problem: string
  readonly remedy: string

  constructor(address: ListenAddress, cause: NodeJS.ErrnoException) {
    const [problem, remedy] = explain(cause, address)
    super(`cannot listen on ${formatListen(address)}: ${problem}; ${remedy}`)
    this.problem = `cannot listen on ${formatListen(address)}: ${problem}`
    this.remedy = remedy
  }
}

/** Binds a server; replaces a Unix socket on which nobody listens any more. */
export async function bind(server: Server, address: ListenAddress): Promise<BoundAddress> {
  try {
    await listen(server, address)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Without IPv6 in the kernel, `::` cannot be bound.
    if (code === 'EAFNOSUPPORT' && address.kind === 'tcp' && address.host === '::') {
      return bind(server, { ...address, host: '0.0.0.0' })
    }
    if (code !== 'EADDRINUSE' || address.kind !== 'unix' || !(await isStale(address.path))) {
      throw new BindError(address, error as Error)
    }
    unlinkSync(address.path)
    await listen(server, address)
  }
  const bound = server.address()
  if (bound === null || typeof bound === 'string') {
    return { text: formatListen(address), host: '', port: 0 }
  }
  const text = formatListen({ kind: 'tcp', host: bound.address, port: bound.port })
  return { text, host: bound.address, port: bound.port }
}

async function listen(server: Server, address: ListenAddress): Promise<void> {
  server.listen({ ...address, backlog: 1024 })
  await once(server, 'listening')
}

/** Returns true for an abandoned socket: only ECONNREFUSED proves that nobody listens. */
function isStale(path: string): Promise<boolean> {
  // Other files also refuse connections, and must not be deleted.
  if (!lstatSync(path).isSocket()) return Promise.resolve(false)
  return new Promise((resolve) => {
    const socket = connect({ path })
    socket.once('connect', () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'))
  })
}

function explain(
  error: NodeJS.ErrnoException,
  address: ListenAddress,
): [problem: string, remedy: string] {
  switch (error.code) {
    case 'EADDRINUSE':
      return ['it is in use', 'stop the process that listens there or choose another address']
    case 'EACCES':
      if (address.kind === 'unix') {
        // Node reports a missing directory as EACCES, too.
        if (!existsSync(dirname(address.path))) {
          return ['its directory does not exist', 'create the directory first']
        }
        return ['permission denied', 'allow this user to write to the directory of the socket']
      }
      return ['permission denied', 'ports below 1024 need root or CAP_NET_BIND_SERVICE']
    case 'EADDRNOTAVAIL':
      return ['this machine has no such address', 'choose one that `ip addr` shows, or 0.0.0.0']
    case undefined:
    default:
      return [error.message, 'choose another address']
  }
}
