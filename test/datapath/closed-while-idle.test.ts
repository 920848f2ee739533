import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type AppExchange, RawClient, response, startSidecar, toolCall } from '../support/wire.ts'

/** Longer than a connection may rest before Squall looks whether it has ended. */
const REST = 1_100

test.concurrent.each([
  ['fast', 'closes'],
  ['fast', 'responds 408 and closes'],
  ['standard', 'closes'],
] as const)(
  'a request is sent once, on another connection, when the upstream ends an idle one (%s: %s)',
  async (engine, how) => {
    const exchanges: AppExchange[] = []
    const squall = await startSidecar({
      engine,
      upstream: {
        script: async (e) => {
          exchanges.push(e)
          await e.write(response('200 OK', [], 'ok'))
        },
      },
    })
    const client = await RawClient.connect(squall.port)
    await client.send(toolCall(1), 'POST')
    expect((await client.response())?.status).toBe(200)
    await sleep(REST)
    // Both arrive before Squall reads again: the request first, then the end.
    const sent = client.send(toolCall(2), 'POST')
    const { socket } = exchanges[0]!
    if (how !== 'closes') socket.write(response('408 Request Timeout', [], 'late'))
    socket.destroy()
    await sent
    expect((await client.response(1))?.status).toBe(200)
    expect(exchanges.map(({ connection }) => connection.index)).toEqual([0, 1])
    client.close()
    await squall.close()
  },
)
