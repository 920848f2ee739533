import { once } from 'node:events'
import { connect, createServer, type LookupFunction, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DialledSockets, isDialled, noteDial } from '../../src/upstream/dialled.ts'
import { type HttpApp, startUpstream } from '../support/wire.ts'

const ADDRESS = '127.0.0.1'

let upstream: HttpApp<Server>

beforeAll(async () => {
  upstream = await startUpstream(createServer((client) => client.on('error', () => undefined)))
})

afterAll(() => upstream.close())

/** Connects, and returns both ends. */
async function dial(dialled: DialledSockets, ...addresses: string[]): Promise<[Socket, Socket]> {
  const accepted = once(upstream.server, 'connection') as Promise<[Socket]>
  const found = addresses.map((address) => ({ address, family: 4 }))
  const lookup: LookupFunction = (_, __, done) => setImmediate(done, null, found)
  const socket = connect({ host: 'a-name', port: upstream.port, lookup })
  noteDial(socket, dialled)
  const [client] = await accepted
  return [socket, client]
}

test('knows the other end of its own connection until that is closed', async () => {
  const dialled: DialledSockets = new Map()
  const [socket, client] = await dial(dialled, ADDRESS)
  expect(isDialled(dialled, ADDRESS, upstream.port, client.remotePort)).toBe(true)
  expect(isDialled(dialled, '127.0.0.2', upstream.port, client.remotePort)).toBe(false)
  expect(isDialled(dialled, ADDRESS, upstream.port, client.localPort)).toBe(false)
  client.destroy()
  socket.destroy()
  await once(socket, 'close')
  expect(dialled.size).toBe(0)
})

test('knows a connection by the address that accepted it, not by those that did not', async () => {
  const dialled: DialledSockets = new Map()
  const [socket, client] = await dial(dialled, '127.0.0.3', ADDRESS)
  expect(isDialled(dialled, ADDRESS, upstream.port, client.remotePort)).toBe(true)
  expect(dialled.size).toBe(1)
  client.destroy()
  socket.destroy()
})

test('does not take a connection to another port for its own, although its port is the same', async () => {
  const dialled: DialledSockets = new Map()
  const [socket, client] = await dial(dialled, ADDRESS)
  expect(isDialled(dialled, ADDRESS, upstream.port + 1, client.remotePort)).toBe(false)
  client.destroy()
  socket.destroy()
})

test('does not take a connection for its own that has received bytes or an end', async () => {
  for (const greet of [
    (client: Socket) => client.write('bytes'),
    (client: Socket) => client.end(),
  ]) {
    const dialled: DialledSockets = new Map()
    const [socket, client] = await dial(dialled, ADDRESS)
    const from = client.remotePort
    greet(client)
    await Promise.race([once(socket, 'data'), once(socket, 'end')])
    expect(isDialled(dialled, ADDRESS, upstream.port, from)).toBe(false)
    client.destroy()
    socket.destroy()
  }
})
