import { once } from 'node:events'
import { connect, Server, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { cutSocket } from '../../../src/listener/front/cut-socket.ts'
import { closers } from '../../support/closers.ts'
import { startUpstream } from '../../support/wire.ts'

const opened = closers()

test.each([
  ['is idle', () => undefined],
  ['has bytes for a client that does not read', (socket: Socket) => void socket.write(MUCH)],
  ['is being ended', (socket: Socket) => void socket.end()],
  ['is being ended behind such bytes', (socket: Socket) => void socket.end(MUCH)],
])('a reset closes a socket that %s', async (_, before) => {
  const server = new Server({ allowHalfOpen: true })
  const app = opened(await startUpstream(server))
  const client = connect(app.port, '127.0.0.1').pause()
  client.on('error', () => undefined)
  const [socket] = (await once(server, 'connection')) as [Socket]
  socket.on('error', () => undefined)
  before(socket)
  const closed = once(socket, 'close')
  cutSocket(socket, 'rst')
  await closed
  expect(await connections(server)).toBe(0)
  client.destroy()
})

const MUCH = Buffer.alloc(16 * 2 ** 20)

function connections(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_, count) => resolve(count)))
}
