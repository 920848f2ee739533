import { describe, expect, test } from 'vitest'
import type { RawClient } from '../support/wire.ts'
import { modern, POLL, post, request, result, type Stage } from '../accounting/stage.ts'
import { giveUp, heldCalls, LATE } from './held-calls.ts'

const open = heldCalls()
const of = (client: string): string => `Authorization: ${client}\r\n`

test('a cancellation is for the one call that has its id and its headers', async () => {
  const { held, stage } = await open([LATE])
  const one = await held.holds(post(request(1), of('one')))
  const other = await held.holds(post(request(1), of('other')), 2)
  await stage.exchange(post(giveUp(1), of('third')))
  await stage.exchange(post(giveUp(1), of('one')))
  const given = await one.response()
  expect([given!.status, given!.body.toString()]).toEqual([200, ''])
  held.free()
  expect((await other.response())!.body.toString()).toContain('result')
  expect(held.seen).toEqual([giveUp(1), giveUp(1), request(1)])
  await stage.ends({ 'tools/call echo: timeout by injected': 1, 'tools/call echo: ok': 1 })
})

test('a client of protocol version 2026-07-28 cancels by leaving, and the upstream never gets the call', async () => {
  const { held, stage } = await open([LATE])
  const client = await held.holds(post(modern(1)))
  client.close()
  await stage.ends({ 'tools/call echo: abandoned by injected': 1 })
  expect(stage.squall.faults!.active).toBe(0)
  expect(held.seen).toEqual([])
})

// Nobody can say which of several held calls such a cancellation is for. It used to pass at once:
// the upstream got it in front of the call that it cancels, and ignored it.
describe('a cancellation that fits several held calls', () => {
  const PING = { jsonrpc: '2.0', method: 'notifications/ping' }

  /** Sends a cancellation, and waits until what comes behind it is there. */
  async function waits(stage: Stage, message: unknown = giveUp(1)): Promise<RawClient> {
    const client = await stage.send(post(message))
    await stage.exchange(post(PING))
    return client
  }

  async function ok(client: RawClient, status = 200): Promise<void> {
    expect((await client.response())!.status).toBe(status)
  }

  test('waits until all of them are with the upstream, and ends none', async () => {
    const { held, stage } = await open([LATE])
    const clients = [await held.holds(post(request(1))), await held.holds(post(request(1)), 2)]
    const cancellations = [await waits(stage), await waits(stage)]
    clients.push(await held.holds(post(request(1)), 3))
    cancellations.push(await waits(stage))
    expect(held.seen).toEqual([PING, PING, PING])
    held.free()
    for (const client of clients) await ok(client)
    for (const client of cancellations) await ok(client, 202)
    const calls = [request(1), request(1), request(1)]
    expect(held.seen).toEqual([PING, PING, PING, ...calls, giveUp(1), giveUp(1), giveUp(1)])
    await stage.ends({ 'tools/call echo: ok': 3 })
  })

  test('does not wait for calls that come later', async () => {
    const { held, stage } = await open([LATE])
    const clients = [await held.holds(post(request(1))), await held.holds(post(request(1)), 2)]
    const cancellation = await waits(stage)
    const later = await held.holds(post(request(1)), 3)
    for (const client of clients) client.close()
    await ok(cancellation, 202)
    expect(held.seen).toEqual([PING, giveUp(1)])
    held.free()
    await ok(later)
    await stage.ends({ 'tools/call echo: abandoned by injected': 2, 'tools/call echo: ok': 1 })
  })

  test('passes once they have ended in another way', async () => {
    const { held, stage } = await open([LATE])
    const clients = [await held.holds(post(request(1))), await held.holds(post(request(1)), 2)]
    const cancellation = await waits(stage)
    clients[0]!.close()
    await stage.ends({ 'tools/call echo: abandoned by injected': 1 })
    expect(held.seen).toEqual([PING])
    clients[1]!.close()
    await ok(cancellation, 202)
    expect(held.seen).toEqual([PING, giveUp(1)])
    await stage.ends({ 'tools/call echo: abandoned by injected': 2 })
  })

  test('passes after --hold-timeout', async () => {
    const { held, stage } = await open([LATE], { holdTimeout: 200 })
    await held.holds(post(request(1)))
    await held.holds(post(request(1)), 2)
    await ok(await stage.exchange(post(giveUp(1))), 202)
    expect(held.seen).toEqual([giveUp(1)])
    expect(stage.squall.faults!.active).toBe(2)
    await stage.ends({})
    held.free()
    await stage.ends({ 'tools/call echo: ok': 2 })
  })

  test('is not sent when its client leaves', async () => {
    const { held, stage } = await open([LATE])
    const clients = [await held.holds(post(request(1))), await held.holds(post(request(1)), 2)]
    const cancellation = await waits(stage)
    cancellation.close()
    await expect.poll(() => stage.gauges(), POLL).toMatchObject({ client: 3 })
    held.free()
    for (const client of clients) await ok(client)
    expect(held.seen).toEqual([PING, request(1), request(1)])
  })

  test('in a batch keeps the batch back, which ends as it would have', async () => {
    const { held, stage } = await open([LATE])
    const other = request(2, 'tools/call', { name: 'other' })
    const clients = [await held.holds(post(request(1))), await held.holds(post(request(1)), 2)]
    const batch = await waits(stage, [giveUp(1), other])
    held.free()
    for (const client of clients) await ok(client)
    expect((await batch.response())!.body.toString()).toBe(JSON.stringify([result(2)]))
    expect(held.seen).toEqual([PING, request(1), request(1), [giveUp(1), other]])
    await stage.ends({ 'tools/call echo: ok': 2, 'tools/call other: ok': 1 })
  })
})
