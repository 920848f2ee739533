import { describe, expect, test } from 'vitest'
import { get, POLL, post, request, result, streamHead } from '../accounting/stage.ts'
import { chunk } from '../support/wire.ts'
import { giveUp, heldCalls, LATE, SESSION } from './held-calls.ts'
import { oneFault } from './one-fault.ts'

// A cancellation used to overtake the call that a fault held: the upstream executed the call behind
// its own cancellation, and the client got a result that it had given up.

const open = heldCalls()

const SILENT = oneFault('hang: {}')
const EXCHANGE = oneFault(
  'delay: { fixed: 1h, max: 1h }',
  'match: { http: { method: POST, path: /mcp }, headers: { x-hold: "1" } }',
)

describe('a cancellation ends the call that a fault holds', () => {
  test.each([
    ['delay', LATE, ''],
    ['hang', SILENT, ''],
    ['delay of the exchange', EXCHANGE, 'x-hold: 1\r\n'],
  ])('by %s, and the upstream never gets it', async (_what, spec, lines) => {
    const { held, stage } = await open([spec])
    const client = await held.holds(post(request(1), SESSION + lines))
    await stage.exchange(post(giveUp(1), SESSION))
    await held.endsEmpty(client)
    expect(held.seen).toEqual([giveUp(1)])
    await stage.ends({ 'tools/call echo: timeout by injected': 1 })
    expect(stage.squall.faults!.counts()).toMatchObject({ matched: 1, injected: 1 })
  })

  test.each([
    ['the user stopped it', 'cancelled'],
    ['', 'abandoned'],
  ])('and counts it by its reason: %j', async (reason, outcome) => {
    const { held, stage } = await open([LATE])
    const client = await held.holds(post(request(1), SESSION))
    await stage.exchange(post(giveUp(1, reason), SESSION))
    await held.endsEmpty(client)
    await stage.ends({ [`tools/call echo: ${outcome} by injected`]: 1 })
  })

  test('of a client that takes no stream', async () => {
    const { held, stage } = await open([LATE])
    const bytes = post(request(1), SESSION).replace(', text/event-stream', '')
    const client = await held.holds(bytes)
    await stage.exchange(post(giveUp(1), SESSION))
    await held.endsEmpty(client, 202)
  })

  test('of HTTP+SSE', async () => {
    const { held, stage } = await open([LATE])
    await stage.send(get('/sse'), 'GET')
    const stream = await held.app.at(0)
    await stream.send([streamHead(), chunk('event: endpoint\ndata: /message?s=1\n\n')])
    await expect.poll(() => stage.gauges(), POLL).toMatchObject({ push: 1 })
    const client = await held.holds(post(request(1), '', '/message?s=1'))
    await stage.exchange(post(giveUp(1), '', '/message?s=1'))
    await held.endsEmpty(client, 202)
    expect(held.seen).toEqual(['GET', giveUp(1)])
    await stage.ends({ 'tools/call echo: timeout by injected': 1 })
  })

  test('that is held longer than calls are remembered', async () => {
    const { held, stage } = await open([LATE], { inFlightTtl: 1 })
    const client = await held.holds(post(request(1), SESSION))
    for (let sweep = 0; sweep < 3; sweep++) {
      await new Promise((resolve) => setTimeout(resolve, 2))
      await stage.squall.metrics()
    }
    await stage.exchange(post(giveUp(1), SESSION))
    await held.endsEmpty(client)
    expect(held.seen).toEqual([giveUp(1)])
  })

  test('and of another call, or of another session, it does not', async () => {
    const { held, stage } = await open([LATE])
    const client = await held.holds(post(request(1), SESSION))
    await stage.exchange(post(giveUp('1'), SESSION))
    await stage.exchange(post(giveUp(1), 'Mcp-Session-Id: s2\r\n'))
    held.free()
    expect((await client.response())!.body.toString()).toContain('result')
    await stage.ends({ 'tools/call echo: ok': 1 })
  })
})

describe('in a batch', () => {
  const other = (id: number) => request(id, 'tools/call', { name: 'other' })

  test('the call that is given up is left out, and the others go on', async () => {
    const { held, stage } = await open([LATE])
    const client = await held.holds(post([request(1), other(2)], SESSION))
    await stage.exchange(post(giveUp(1), SESSION))
    expect((await client.response())!.body.toString()).toBe(JSON.stringify([result(2)]))
    expect(held.seen.toReversed()).toContainEqual([other(2)])
    expect(JSON.stringify(held.seen)).not.toContain('echo')
    await stage.ends({ 'tools/call echo: timeout by injected': 1, 'tools/call other: ok': 1 })
  })

  test('one that waits for the fault of another one is given up because of that fault', async () => {
    const { held, stage } = await open([LATE])
    const client = await held.holds(post([request(1), other(2)], SESSION))
    await stage.exchange(post(giveUp(2), SESSION))
    await stage.exchange(post(giveUp(1), SESSION))
    await held.endsEmpty(client)
    expect(held.seen).toEqual([giveUp(2), giveUp(1)])
    await stage.ends({
      'tools/call echo: timeout by injected': 1,
      'tools/call other: timeout by injected': 1,
    })
  })

  test('a client that leaves has left all of them because of the fault', async () => {
    const { held, stage } = await open([LATE])
    const client = await held.holds(post([request(1), other(2)], SESSION))
    client.close()
    await stage.ends({
      'tools/call echo: abandoned by injected': 1,
      'tools/call other: abandoned by injected': 1,
    })
    expect(held.seen).toEqual([])
  })

  test('a call and its cancellation behind it are no call', async () => {
    const { held, stage } = await open([LATE])
    await stage.exchange(post([request(1), giveUp(1, 'no need')], SESSION))
    expect(held.seen).toEqual([[giveUp(1, 'no need')]])
    expect(stage.squall.faults!.injected).toEqual([])
    await stage.ends({ 'tools/call echo: cancelled': 1 })
  })

  test('without a fault both go, and the call is counted as cancelled', async () => {
    const { held, stage } = await open([])
    const batch = [request(1), giveUp(1, 'no need')]
    await stage.exchange(post(batch))
    expect(held.seen).toEqual([batch])
    await stage.ends({ 'tools/call echo: cancelled': 1 })
  })

  test('a cancellation in front of a call is not for that call', async () => {
    const { stage } = await open([])
    await stage.exchange(post([giveUp(1), request(1)], SESSION))
    await stage.ends({ 'tools/call echo: ok': 1 })
  })
})
