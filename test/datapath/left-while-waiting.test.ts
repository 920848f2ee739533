/**
 * Requests of clients that had left while the bytes waited for their turn were begun after the end
 * of the connection, and never ended: their memory and their upstream connections were lost.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { spendShare } from '../../src/base/event-loop.ts'
import { closers } from '../support/closers.ts'
import {
  afterReads,
  metricBecomes,
  RawClient,
  type RunningSidecar,
  startSidecar,
  toolCall,
} from '../support/wire.ts'

const opened = closers()
const LONG = 1_000

/** Uses up the share of each iteration until the returned function is called. */
function keepBusy(): () => void {
  let isOver = false
  const spend = (): void => {
    if (isOver) return
    spendShare(LONG)
    setImmediate(spend)
  }
  spend()
  return () => {
    isOver = true
  }
}

const clients = (squall: RunningSidecar, count: number): Promise<number> =>
  metricBecomes(squall, count, 'squall_connections', { kind: 'client' })

const WHOLE = toolCall(1)

test.each([
  ['fast', 'a whole call', WHOLE],
  ['fast', 'a part of a call', WHOLE.slice(0, -10)],
  ['standard', 'a whole call', WHOLE],
  ['standard', 'a part of a call', WHOLE.slice(0, -10)],
] as const)(
  'a client that resets while its bytes wait leaves nothing behind (%s, %s)',
  async (engine, _what, request) => {
    const squall = opened(await startSidecar({ upstream: { script: () => undefined }, engine }))
    const client = await RawClient.connect(squall.port)
    expect(await clients(squall, 1)).toBe(1)
    const rest = keepBusy()
    await client.send(request, 'POST')
    await afterReads()
    client.reset()
    expect(await clients(squall, 0)).toBe(0)
    rest()
    for (let turn = 0; turn < 5; turn++) await nextTurn()
    expect(squall.sidecar.memory.held).toBe(0)
    expect(squall.app.connections).toHaveLength(0)
  },
)

test.each(['fast', 'standard'] as const)(
  'a client that ends its side behind calls that wait is noticed (%s)',
  async (engine) => {
    const squall = opened(await startSidecar({ upstream: { script: () => undefined }, engine }))
    const client = await RawClient.connect(squall.port)
    expect(await clients(squall, 1)).toBe(1)
    const rest = keepBusy()
    await client.send(WHOLE.repeat(5), 'POST')
    client.socket.end()
    await afterReads()
    rest()
    await squall.app.received(4)
    expect(await clients(squall, 0)).toBe(0)
    expect(await metricBecomes(squall, 0, 'squall_in_flight_requests')).toBe(0)
  },
)

test.each(['fast', 'standard'] as const)(
  'a client that ends its side inside a call behind an open one is noticed (%s)',
  async (engine) => {
    const squall = opened(await startSidecar({ upstream: { script: () => undefined }, engine }))
    const client = await RawClient.connect(squall.port)
    await client.send(`${WHOLE}${WHOLE.slice(0, -10)}`, 'POST')
    await squall.app.received(1)
    client.socket.end()
    expect(await clients(squall, 0)).toBe(0)
    expect(await metricBecomes(squall, 0, 'squall_in_flight_requests')).toBe(0)
  },
)
