import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import {
  readDirectly,
  stopReadingDirectly,
} from '../../../../src/listener/front/fast/direct-reading.ts'
import { eventually } from '../../../support/eventually.ts'

const ends: (() => void)[] = []

afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** Two ends of a connection; of the near one is told what it took directly, and what as `data`. */
async function connection(): Promise<{ near: Socket; far: Socket; taken: string; data: string }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const far = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [near] = (await once(server, 'connection')) as [Socket]
  ends.push(() => {
    far.destroy()
    near.destroy()
    server.close()
  })
  const told = { near, far, taken: '', data: '' }
  near.on('data', (chunk: Buffer) => (told.data += chunk.toString()))
  readDirectly(near, (chunk) => (told.taken += chunk.toString()))
  return told
}

function soon(isSo: () => boolean): Promise<void> {
  return eventually(() => (isSo() ? undefined : `not yet: ${isSo.toString()}`))
}

test('what arrives is taken without an event', async () => {
  const told = await connection()
  told.far.write('one')
  await soon(() => told.taken === 'one')
  told.far.write('two')
  await soon(() => told.taken === 'onetwo')
  expect(told.data).toBe('')
})

test('a paused socket keeps what arrives, and then continues in order', async () => {
  const told = await connection()
  const { near, far } = told
  near.pause()
  far.write('one')
  await soon(() => near.readableLength === 3)
  expect(told.taken).toBe('')
  near.resume()
  await soon(() => told.data === 'one')
  far.write('two')
  await soon(() => told.taken === 'two')
})

test('a paused socket stops reading from a client that sends on', async () => {
  const { near, far } = await connection()
  near.pause()
  const most = 64 * 1024 * 1024
  far.write(Buffer.alloc(most))
  await soon(() => near.readableLength >= near.readableHighWaterMark)
  near.resume()
  await soon(() => near.bytesRead === most)
})

test('the end is reported as usual', async () => {
  const told = await connection()
  const ended = once(told.near, 'end')
  told.far.end('last')
  await ended
  expect(told.taken).toBe('last')
})

test('a socket that is read as usual again gives what arrives as data', async () => {
  const told = await connection()
  const { near, far } = told
  far.write('one')
  await soon(() => told.taken === 'one')
  near.pause()
  stopReadingDirectly(near)
  near.unshift('back ')
  far.write('two')
  near.resume()
  await soon(() => told.data === 'back two')
  expect(told.taken).toBe('one')
})
