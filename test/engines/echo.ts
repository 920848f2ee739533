import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { startUpstream } from '../support/wire.ts'

/**
 * A byte that goes round and round over the loopback interface. On a busy machine the kernel is
 * late with what was written, by any time; but it is delivered in order, so that where this byte
 * has come round, what was written before it has arrived as well.
 */
export class Echo {
  rounds = 0
  readonly #sockets: readonly Socket[]

  private constructor(sockets: readonly [Socket, Socket]) {
    this.#sockets = sockets
    const [near, far] = sockets
    far.on('data', (bytes) => void far.write(bytes))
    near.on('data', (bytes) => {
      this.rounds++
      near.write(bytes)
    })
    near.write('.')
  }

  static async start(): Promise<Echo> {
    const { server, port } = await startUpstream(createServer({ noDelay: true }))
    const near = connect({ port, host: '127.0.0.1', noDelay: true })
    const [far] = (await once(server, 'connection')) as [Socket]
    server.close()
    return new Echo([near, far])
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}
