import { describe, expect, test } from 'vitest'
import { Held } from '../accounting/held.ts'
import {
  event,
  get,
  LAST_CHUNK,
  POLL,
  post,
  request,
  result,
  Stage,
  streamHead,
} from '../accounting/stage.ts'
import { closers } from '../support/closers.ts'
import { type AppExchange, chunk, response } from '../support/wire.ts'
import { oneFault } from './one-fault.ts'
import { heldCalls, LATE, SESSION } from './held-calls.ts'

// The end of a session used to overtake the calls that a fault held: the upstream got them behind
// it, and its 404 counted as an error of its own. Calls without a response stayed open for ten
// minutes.

const open = heldCalls()
const opened = closers()

const DELETE = `DELETE /mcp HTTP/1.1\r\nHost: pod\r\n${SESSION}\r\n`

describe('the end of a session', () => {
  test('ends the calls that a fault holds, once the upstream has accepted it', async () => {
    const { held, stage } = await open([LATE])
    const client = await held.holds(post(request(1), SESSION))
    const leaving = await stage.send(DELETE, 'DELETE')
    await (await held.app.at(0)).write(response('200 OK', [], ''))
    await leaving.response()
    await held.endsEmpty(client)
    expect(held.seen).toEqual(['DELETE'])
    await stage.ends({ 'tools/call echo: abandoned by injected': 1 })
  })

  test('is waited for by a call that its fault lets go meanwhile', async () => {
    const { held, stage } = await open([LATE])
    const client = await held.holds(post(request(1), SESSION))
    const leaving = await stage.send(DELETE, 'DELETE')
    const end = await held.app.at(0)
    held.free()
    await stage.exchange(post(request(2), SESSION))
    expect(held.seen).toEqual(['DELETE', request(2)])
    await end.write(response('204 No Content'))
    await leaving.response()
    await held.endsEmpty(client)
    expect(held.seen).toEqual(['DELETE', request(2)])
    await stage.ends({ 'tools/call echo: abandoned by injected': 1, 'tools/call echo: ok': 1 })
  })

  test.each([
    ['that the upstream refuses', (app: AppExchange) => void app.write(response('405 No', [], ''))],
    ['that the upstream does not answer', (app: AppExchange) => app.reset()],
  ])('%s lets them go on', async (_what, act) => {
    const { held, stage } = await open([LATE])
    const client = await held.holds(post(request(1), SESSION))
    const leaving = await stage.send(DELETE, 'DELETE')
    act(await held.app.at(0))
    await leaving.response()
    held.free()
    expect((await client.response())!.body.toString()).toContain('result')
    await stage.ends({ 'tools/call echo: ok': 1 })
  })

  test('that cannot be asked for lets them go on', async () => {
    const refusing = oneFault('abort: { status: 200 }', 'match: { http: { method: DELETE } }')
    const { held, stage } = await open([LATE, refusing])
    const client = await held.holds(post(request(1), SESSION))
    await (await stage.send(DELETE, 'DELETE')).response()
    held.free()
    expect((await client.response())!.body.toString()).toContain('result')
    expect(held.seen).toEqual([request(1)])
  })

  test('by the end of its stream of HTTP+SSE ends them too', async () => {
    const { held, stage } = await open([LATE])
    const listener = await stage.send(get('/sse'), 'GET')
    await (
      await held.app.at(0)
    ).send([streamHead(), chunk('event: endpoint\ndata: /message?s=1\n\n')])
    await expect.poll(() => stage.gauges(), POLL).toMatchObject({ push: 1 })
    const client = await held.holds(post(request(1), '', '/message?s=1'))
    listener.close()
    await held.endsEmpty(client, 202)
    expect(held.seen).toEqual(['GET'])
    await stage.ends({ 'tools/call echo: abandoned by injected': 1 })
  })

  test.each([
    ['200 OK', { 'tools/call echo: abandoned': 2 }],
    ['404 Not Found', { 'tools/call echo: abandoned': 2 }],
    ['405 Method Not Allowed', {}],
  ])('answered with %s settles the calls that nobody answers any more', async (status, counted) => {
    const app = new Held()
    const stage = opened(await Stage.open((exchange) => app.push(exchange)))
    const cut = await stage.send(post(request(1), SESSION))
    await (await app.at(0)).send([streamHead(), chunk('id: e1\ndata: \n\n'), LAST_CHUNK])
    await cut.response()
    const left = await stage.send(post(request(2), SESSION))
    await (await app.at(1)).send([streamHead(), chunk('id: e2\ndata: \n\n')])
    await left.sees('e2')
    left.close()
    await expect.poll(() => stage.gauges(), POLL).toMatchObject({ request: 0, pending: 2 })
    const leaving = await stage.send(DELETE, 'DELETE')
    await (await app.at(2)).write(response(status, [], ''))
    await leaving.response()
    await stage.ends(counted)
    if (status.startsWith('405')) {
      const resumed = await stage.send(get('/mcp', SESSION), 'GET')
      await (await app.at(3)).send([streamHead(), event(result(1)), event(result(2))])
      await resumed.sees('"id":2')
      await stage.ends({ 'tools/call echo: ok': 2 })
    }
  })
})
