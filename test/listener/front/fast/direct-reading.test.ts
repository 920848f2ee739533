import { once } from 'node:events'
import { type Socket, connect, createServer } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import {
  readDirectly,
  stopReadingDirectly,
} from '../../../../src/listener/front/fast/fast-connection.ts'
import { eventually } from '../../../support/eventually.ts'
import { startUpstream } from '../../../support/upstream.ts'

const ends: (() => void)[] = []

afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** Two ends of a connection; the near one reports what it took directly, and what as `data`. */
async function connection(): Promise<{ near: Socket; far: Socket; taken: string; data: string }> {
  const { server, port, close } = await startUpstream(createServer())
  const far = connect(port, '127.0.0.1')
  const [near] = (await once(server, 'connection')) as [Socket]
  ends.push(() => {
    far.destroy()
    near.destroy()
    void close()
  })
  const reported = { near, far, taken: '', data: '' }
  near.on('data', (chunk: Buffer) => (reported.data += chunk.toString()))
  readDirectly(near, (chunk) => (reported.taken += chunk.toString()))
  return reported
}

function soon(isSo: () => boolean): Promise<void> {
  return eventually(() => (isSo() ? undefined : `not yet: ${isSo.toString()}`))
}

test('what arrives is taken without an event', async () => {
  const reported = await connection()
  reported.far.write('one')
  await soon(() => reported.taken === 'one')
  reported.far.write('two')
  await soon(() => reported.taken === 'onetwo')
  expect(reported.data).toBe('')
})

test('a paused socket keeps what arrives, and then continues in order', async () => {
  const reported = await connection()
  const { near, far } = reported
  near.pause()
  far.write('one')
  await soon(() => near.readableLength === 3)
  expect(reported.taken).toBe('')
  near.resume()
  await soon(() => reported.data === 'one')
  far.write('two')
  await soon(() => reported.taken === 'two')
})

test('a paused socket stops reading from a client that sends on', async () => {
  const { near, far } = await connection()
  near.pause()
  const most = 16 * 1024 * 1024
  far.write(Buffer.alloc(most))
  await soon(() => near.readableLength >= near.readableHighWaterMark)
  near.resume()
  await soon(() => near.bytesRead === most)
})

test('the end is reported as usual', async () => {
  const reported = await connection()
  const ended = once(reported.near, 'end')
  reported.far.end('last')
  await ended
  expect(reported.taken).toBe('last')
})

test('a socket that is read as usual again gives what arrives as data', async () => {
  const reported = await connection()
  const { near, far } = reported
  far.write('one')
  await soon(() => reported.taken === 'one')
  near.pause()
  stopReadingDirectly(near)
  near.unshift('back ')
  far.write('two')
  near.resume()
  await soon(() => reported.data === 'back two')
  expect(reported.taken).toBe('one')
})
