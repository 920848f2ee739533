import { expect, test } from 'vitest'
import { createConnector } from '../../src/upstream/connector.ts'
import { startUpstream } from '../support/wire.ts'

const TIMEOUT = 50

test('a connection that is made while the process stands still is used', async () => {
  const app = await startUpstream((_req, res) => res.end('ok'))
  const address = { kind: 'tcp', tls: false, host: '127.0.0.1', port: app.port } as const
  const connect = createConnector({ address, timeout: TIMEOUT, tls: () => ({}) })
  const error = await new Promise((resolve) => {
    const socket = connect((failed) => {
      socket.destroy()
      resolve(failed)
    })
    // The connection begins in the next tick.
    process.nextTick(() => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TIMEOUT * 3)
    })
  })
  expect(error).toBeNull()
  await app.close()
})
