// part: slow
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import {
  type Everything,
  type InteropClient,
  type OpenClient,
  openClient,
  outcome,
  startSidecar,
  startUpstream,
} from '../support/wire.ts'
import { someOf } from '../support/rounds.ts'
import { oneFault } from '../faults/one-fault.ts'
import { MESSAGE_ROWS, type MessageRow } from '../matrix/message-rows.ts'

const CLIENTS: [string, OpenClient][] = [
  ['the SDK v1 client', openClient('v1')],
  ['the SDK v2 client', openClient('v2')],
]
/** Runs a tool that reports progress three times. */
async function long(client: InteropClient): Promise<unknown> {
  const steps: unknown[] = []
  const args = { duration: 0.6, steps: 3 }
  const onprogress = (step: unknown): void => void steps.push(step)
  await client.call('trigger-long-running-operation', args, { onprogress })
  const firsts = steps.filter((step) => (step as { progress: number }).progress === 1)
  return { steps: steps.length, firsts: firsts.length }
}
const elicits = (client: InteropClient, timeout = 20_000): Promise<unknown> =>
  outcome(client.call('trigger-elicitation-request', {}, { timeout }))
const asked = (client: InteropClient): Promise<unknown> =>
  elicits(client).then(() => client.received.all.map(({ method }) => method))

interface Play {
  /** Returns what the client reports. Rules about `initialize` act while it connects. */
  readonly play: (client: InteropClient, row: MessageRow) => Promise<unknown>
  readonly sees: unknown
}
const texts = async (client: InteropClient, { match }: MessageRow): Promise<unknown> =>
  match.includes('prompts/get')
    ? client.getPrompt('simple-prompt')
    : client.readResource('demo://resource/static/document/features.md')

const PLAYS: Readonly<Record<MessageRow['reports'], Play>> = {
  'no progress': { play: long, sees: { steps: 0 } },
  'the first progress': { play: long, sees: { steps: 1 } },
  'progress twice': { play: long, sees: { firsts: 2 } },
  'progress 51 times': { play: long, sees: { firsts: 51 } },
  'a result with isError': {
    play: (client, { match }) =>
      match.includes('sampling')
        ? outcome(client.call('trigger-sampling-request', { prompt: 'hi', maxTokens: 5 }))
        : elicits(client),
    sees: { result: { isError: true } },
  },
  'an unknown protocol version': {
    play: async () => 'connected',
    sees: { error: { message: expect.stringMatching(/protocol version/i) as unknown } },
  },
  'a server without tools': {
    play: async (client) => client.handshake(),
    sees: {
      capabilities: expect.not.objectContaining({ tools: expect.anything() as unknown }) as unknown,
    },
  },
  'another text': {
    play: async (client, row) => JSON.stringify(await texts(client, row)).includes('canary'),
    sees: true,
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
      const { play, sees } = PLAYS[row.reports]
      let client: InteropClient | undefined
      try {
        const reported = await open(new URL(pathname, squall.url).href, transport).then(
          (opened) => play((client = opened), row),
          (error: unknown) => ({ error }),
        )
        if (typeof sees === 'object') expect(reported).toMatchObject(sees as object)
        else expect(reported).toBe(sees)
        await eventually(() => (squall.faults!.counts().injected ? undefined : 'not injected'))
        expect(squall.faults!.broken).toEqual([])
      } finally {
        await client?.close()
        await squall.close()
      }
    })
  },
)
