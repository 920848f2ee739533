import { expect, test } from 'vitest'
import { chunk, RawClient, startSidecar, STREAM_HEAD, toolCall } from '../support/wire.ts'

const CALLS = 20

test.each(['fast', 'standard'] as const)(
  'a reset of the upstream right behind an event reaches the client as a reset (%s)',
  async (engine) => {
    const squall = await startSidecar({
      engine,
      upstream: {
        script: async (e) => {
          await e.send([STREAM_HEAD])
          e.socket.write(chunk('data: {}\n\n'))
          e.reset()
        },
      },
    })
    const callStates: string[] = []
    for (let i = 0; i < CALLS; i++) {
      const client = await RawClient.connect(squall.port)
      await client.send(toolCall(i), 'POST')
      callStates.push(await client.gone)
      client.close()
    }
    const counted = squall.metrics()
    expect(await counted).toMatch(/^squall_calls_total\{outcome="reset".*\} 20$/m)
    await squall.close()
    expect(callStates).toEqual(Array<string>(CALLS).fill('reset'))
  },
)
