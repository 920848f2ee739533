import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import type { ConnectionConfig } from '../../../src/filters/connection.ts'
import type { RuleSpec } from '../../../src/rules/file/rule-spec.ts'
import { type RunningSidecar, startSidecar, startUpstream } from '../../support/wire.ts'

/** A dependency that sends back what it gets, and a sidecar that carries connections to it. */
export interface Carried {
  readonly squall: RunningSidecar
  /** The sockets of the dependency, in the order of their arrival. */
  readonly accepted: readonly Socket[]
  /** The port of the dependency. */
  readonly dependency: number
  open(): Promise<Socket>
  close(): Promise<void>
}

export async function startCarried(rules?: readonly RuleSpec[]): Promise<Carried> {
  const accepted: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    accepted.push(socket)
    socket.on('error', () => undefined).pipe(socket)
  })
  const app = await startUpstream(server)
  const { port } = app
  const target = { text: `db:${port}`, host: '127.0.0.1', port }
  const listen = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const
  const squall = await startSidecar({
    upstream: respond,
    ...(rules && { rules }),
    outbound: [{ listen, targets: [target], isCaptured: false }],
  })
  return {
    squall,
    accepted,
    dependency: port,
    open: async () => {
      const socket = connect({ host: '127.0.0.1', port: squall.ports[1]!, allowHalfOpen: true })
      await once(socket, 'connect')
      return socket.on('error', () => undefined)
    },
    close: async () => {
      await squall.close()
      for (const socket of accepted) socket.destroy()
      await app.close()
    },
  }
}

function respond(_req: IncomingMessage, res: ServerResponse): void {
  res.end()
}

/** A rule about connections to a port. */
export function connectionRule(
  config: ConnectionConfig,
  outbound: NonNullable<RuleSpec['match']>['outbound'],
  rest: Partial<RuleSpec> = {},
): RuleSpec {
  return { name: 'gone', match: { outbound }, faults: [{ fault: 'connection', config }], ...rest }
}

/** Sends a text and returns what comes back first. */
export async function echoed(socket: Socket, text: string): Promise<string> {
  const back = once(socket, 'data') as Promise<[Buffer]>
  socket.write(text)
  return String((await back)[0])
}

/** Resolves to the code of the error that ends a socket; undefined for one that ends well. */
export async function endOf(socket: Socket): Promise<string | undefined> {
  if (!socket.closed) {
    await new Promise((resolve) => {
      socket.once('close', resolve).resume()
    })
  }
  return socket.errored === null ? undefined : (socket.errored as NodeJS.ErrnoException).code
}

/** Resolves to the code of the error with which a new connection fails. */
export async function refusal(port: number): Promise<string | undefined> {
  const socket = connect(port, '127.0.0.1')
  return new Promise((resolve) => {
    socket.once('connect', () => {
      socket.destroy()
      resolve(undefined)
    })
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code))
  })
}
