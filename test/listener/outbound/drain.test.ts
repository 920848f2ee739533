import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startCarried } from './carried.ts'

const SIZE = 8 * 1024 * 1024
/** Longer than a connection may rest during a drain. */
const PAUSE = 1_200

test('a drain waits for a reader that is slow', async () => {
  const carried = await startCarried()
  const socket = await carried.open()
  socket.pause()
  socket.end(Buffer.alloc(SIZE, 'd'))
  const drained = carried.squall.sidecar.drain()
  await setTimeout(PAUSE)
  socket.resume()
  await once(socket, 'end')
  expect(socket.bytesRead).toBe(SIZE)
  await drained
  await carried.close()
})
