import { connect, createServer, type Socket } from 'node:net'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import type { Failure } from '../../src/http/transfer.ts'
import type { UndiciConnection } from '../../src/upstream/undici-connection.ts'
import { ConnectionPool } from '../../src/upstream/connection-pool.ts'
import { UndiciUpstream } from '../../src/upstream/undici-upstream.ts'
import { closers } from '../support/closers.ts'
import { startUpstream } from '../support/wire.ts'

const opened = closers()

async function connected(): Promise<Socket> {
  const { port } = opened(await startUpstream(createServer((socket) => socket.resume())))
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

test('a response that nobody can be had to read fails, and its connection ends', async () => {
  const never = (): never => {
    throw new Error('a connection was asked for')
  }
  const pool = new ConnectionPool<UndiciConnection>({
    open: never,
    mayOpen: () => true,
    reuse: true,
    onConnections: () => undefined,
    now: () => 0,
  })
  // undici takes no such time: its client cannot be made.
  const upstream = new UndiciUpstream(pool, { connector: never, idle: -1, maxResponseHead: 1024 })
  const socket = await connected()
  const closed = once(socket, 'close')
  const failures: Failure[] = []
  const transfer = upstream.takeOver(socket, {
    info: never,
    head: never,
    data: never,
    end: never,
    fail: (failure) => void failures.push(failure),
  })
  await closed
  transfer.resume()
  transfer.abort()
  expect(failures).toEqual([
    {
      kind: 'overload',
      message: "the upstream's response cannot be read now: UND_ERR_INVALID_ARG",
    },
  ])
  expect(pool.size).toBe(0)
})
