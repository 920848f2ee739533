// part: clients
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Everything, startSidecar, startUpstream } from '../support/wire.ts'
import { oneFault } from '../faults/one-fault.ts'
import { MESSAGE_ROWS, type MessageRow } from '../matrix/message-rows.ts'
import { play } from './python-play.ts'

const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern)
const IS_ERROR = { result: { isError: true } }
const TIME_OUT = { error: { message: matching(/timed out/i) } }

/** The scenario that the Python client plays, and what it reports. */
const PLAYS: Readonly<
  Record<MessageRow['reports'], (row: MessageRow) => readonly [string, object]>
> = {
  'no progress': () => ['long', { steps: 0 }],
  'the first progress': () => ['long', { steps: 1 }],
  'progress twice': () => ['long', { firsts: 2 }],
  'progress 51 times': () => ['long', { firsts: 51 }],
  'a result with isError': ({ match }) => [
    match.includes('sampling') ? 'sample' : 'elicit',
    IS_ERROR,
  ],
  'a time-out': () => ['elicit', TIME_OUT],
  'two requests': () => [
    'elicit',
    { received: [{ method: 'elicitation/create' }, { method: 'elicitation/create' }] },
  ],
  'an unknown protocol version': () => ['handshake', { failed: matching(/protocol version/i) }],
  'a server without tools': () => [
    'handshake',
    {
      handshake: {
        capabilities: expect.not.objectContaining({
          tools: expect.anything() as unknown,
        }) as unknown,
      },
    },
  ],
  'another text': ({ match }) => [
    'texts',
    match.includes('prompts/get')
      ? { prompt: { messages: [{ content: { text: matching(/canary/) } }] } }
      : { resource: { contents: [{ text: matching(/canary/) }] } },
  ],
}

describe.each(['streamableHttp', 'sse'] as const)(
  'the reference server over %s and the Python client',
  (transport) => {
    let server: Everything

    beforeAll(async () => {
      server = await startUpstream('everything', transport)
    })
    afterAll(() => server.stop())

    it.each(MESSAGE_ROWS)('report $reports for $fault of $match', async (row) => {
      const { origin, pathname } = new URL(server.url)
      const rules = [oneFault(row.fault, row.match)]
      const squall = await startSidecar({ upstream: origin, rules })
      const [scenario, sees] = PLAYS[row.reports](row)
      try {
        const reported = await play(scenario, new URL(pathname, squall.url).href, transport).catch(
          (error: unknown) => ({ failed: String(error) }),
        )
        expect(reported).toMatchObject(sees)
        expect(squall.faults!.counts().injected).toBeGreaterThan(0)
        expect(squall.faults!.broken).toEqual([])
      } finally {
        await squall.close()
      }
    })
  },
)
