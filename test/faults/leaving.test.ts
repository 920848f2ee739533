import { expect, it } from 'vitest'
import type { Fault } from '../../src/filters/fault.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import {
  type AppExchange,
  chunk,
  RawClient,
  startSidecar,
  STREAM_HEAD,
  toolCall,
} from '../support/wire.ts'
import { REPLACED } from './one-fault.ts'

const opened = closers()

it('closes the generators of a client that has stopped reading and leaves', async () => {
  const closed: string[] = []
  const passing = (name: string): Fault => ({
    async *onResponse(_, frames) {
      try {
        yield* frames
      } finally {
        closed.push(name)
      }
    },
  })
  let app: AppExchange | undefined
  let events = 0
  const script = async (each: AppExchange): Promise<void> => {
    app = each
    await each.write(STREAM_HEAD)
    const event = chunk(`data: ${'x'.repeat(100_000)}\n\n`)
    while (await each.write(event)) events++
  }
  const faults = [passing('a'), passing('b')]
  const squall = opened(await startSidecar({ rules: [REPLACED], faults, upstream: { script } }))
  const client = opened(await RawClient.connect(squall.port, { keepBody: false }))
  await client.send(toolCall(1), 'POST')
  await client.sees('data: ')
  client.socket.pause()
  let before = -1
  await eventually(() => {
    const last = before
    before = events
    return last === events ? undefined : 'the upstream is still read'
  })
  expect(closed).toEqual([])
  client.reset()
  await app!.gone
  await eventually(() => (closed.length < 2 ? `closed: ${closed.join()}` : undefined))
  expect(closed.toSorted()).toEqual(['a', 'b'])
  expect(squall.faults!.counts()).toMatchObject({ matched: 1, not_reached: 1 })
  expect(squall.faults!.broken).toEqual([])
})
