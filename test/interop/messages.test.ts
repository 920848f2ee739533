import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Everything } from '../support/everything.ts'
import { outcome, type InteropClient, type OpenClient } from '../support/interop-client.ts'
import { openClient } from '../support/open-client.ts'
import { someOf } from '../support/rounds.ts'
import { startSidecar } from '../support/sidecar.ts'
import { startUpstream } from '../support/upstream.ts'
import { oneFault } from '../faults/one-fault.ts'
import { MESSAGE_ROWS, type MessageRow } from '../matrix/message-rows.ts'

const CLIENTS: [string, OpenClient][] = [
  ['the SDK v1 client', openClient('v1')],
  ['the SDK v2 client', openClient('v2')],
]
/** Runs a tool that reports progress three times. */
async function long(client: InteropClient): Promise<unknown> {
  const steps: unknown[] = []
  const args = { duration: 0.1, steps: 3 }
  const onprogress = (step: unknown): void => void steps.push(step)
  await client.call('trigger-long-running-operation', args, { onprogress })
  return { steps: steps.length }
}
const elicits = (client: InteropClient, timeout = 20_000): Promise<unknown> =>
  outcome(client.call('trigger-elicitation-request', {}, { timeout }))
const asked = (client: InteropClient): Promise<unknown> =>
  elicits(client).then(() => client.received.all.map(({ method }) => method))

const PLAYS: Readonly<
  Record<
    MessageRow['reports'],
    { readonly play: (client: InteropClient) => Promise<unknown>; readonly sees: unknown }
  >
> = {
  'no progress': { play: long, sees: { steps: 0 } },
  'a result with isError': {
    play: (client) => elicits(client),
    sees: { result: { isError: true } },
  },
  'a time-out': {
    play: (client) => elicits(client, 1_000),
    sees: { error: { message: expect.stringMatching(/timed out/i) as unknown } },
  },
  'two requests': {
    play: asked,
    sees: expect.arrayContaining(['elicitation/create', 'elicitation/create']),
  },
}

const cases = CLIENTS.flatMap(([name, open]) =>
  (['streamableHttp', 'sse'] as const).map((transport) => ({ name, open, transport })),
)

// Each client, and each transport.
describe.each(someOf(cases, 3))(
  'the reference server over $transport and $name',
  ({ open, transport }) => {
    let server: Everything

    beforeAll(async () => {
      server = await startUpstream('everything', transport)
    })
    afterAll(() => server.stop())

    it.concurrent.each(MESSAGE_ROWS)('report $reports for $fault of $match', async (row) => {
      const { origin, pathname } = new URL(server.url)
      const squall = await startSidecar({
        upstream: origin,
        rules: [oneFault(row.fault, row.match)],
      })
      const client = await open(new URL(pathname, squall.url).href, transport)
      try {
        const { play, sees } = PLAYS[row.reports]
        expect(await play(client)).toMatchObject(sees as object)
        expect(squall.faults!.counts().injected).toBeGreaterThan(0)
        expect(squall.faults!.broken).toEqual([])
      } finally {
        await client.close()
        await squall.close()
      }
    })
  },
)
