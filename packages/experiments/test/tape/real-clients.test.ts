// part: slow
import { describe, expect, it } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import {
  type InteropClient,
  type InteropClientV2,
  openClient,
  outcome,
  startUpstream,
  withoutChance,
} from '../../../../test/support/wire.ts'
import { linesOf, record, served } from './recorded.ts'

const open = closers()
type Open = (url: string, kind: 'streamableHttp' | 'sse') => Promise<InteropClient>

/** Plays with the server of the newest protocol version; returns what the client saw. */
async function playModern(client: InteropClient): Promise<object> {
  const progress: unknown[] = []
  const onprogress = (step: unknown): void => void progress.push(step)
  const seen = {
    handshake: client.handshake(),
    tools: await client.listTools(),
    echo: await client.call('echo', { message: 'grüße 🌊' }),
    again: await client.call('echo', { message: 'grüße 🌊' }),
    structured: await client.call('add', { a: 2, b: 3 }),
    counted: await client.call('count', { steps: 4 }, { onprogress }),
    foreign: await client.getPrompt('日本'),
    failed: await client.call('fail'),
    unknownTool: await outcome(client.call('no-such-tool')),
    invalidArguments: await outcome(client.call('echo', {})),
  }
  return { ...seen, progress: progress.slice(0, 3) }
}

/** Plays with the reference server; returns what the client saw. */
async function playReference(client: InteropClient): Promise<object> {
  const progress: unknown[] = []
  const onprogress = (step: unknown): void => void progress.push(step)
  const level = await client.setLevel('debug')
  // The server asks for the roots a moment after the handshake, then logs that it has them.
  await client.received.until('notifications/message')
  const seen = {
    level,
    handshake: client.handshake(),
    tools: await client.listTools(),
    echo: await client.call('echo', { message: 'hello' }),
    structured: await client.call('get-structured-content', { location: 'Chicago' }),
    long: await client.call(
      'trigger-long-running-operation',
      { duration: 0.3, steps: 3 },
      { onprogress },
    ),
    elicited: await client.call('trigger-elicitation-request'),
    sampled: await client.call('trigger-sampling-request', { prompt: 'hi', maxTokens: 5 }),
    unknownTool: await outcome(client.call('no-such-tool')),
    unknownResource: await outcome(client.readResource('demo://nowhere')),
  }
  const asked = client.received.all.map(({ method }) => method)
  return {
    ...seen,
    progress: progress.slice(0, 2),
    asked: asked.filter((m) => m.includes('/create')),
  }
}

/** Records a scenario, serves the tape, and plays the scenario again. */
async function twice(
  url: string,
  connect: Open,
  kind: 'streamableHttp' | 'sse',
  play: (client: InteropClient) => Promise<object>,
) {
  const run = async (at: string, transport: 'streamableHttp' | 'sse'): Promise<object> => {
    const client = await connect(at, transport)
    try {
      return withoutChance(await play(client))
    } finally {
      await client.close()
    }
  }
  let direct: object = {}
  const path = await record(url, async (at) => (direct = await run(at, kind)))
  const tape = open(await served(path, {}))
  return { direct, played: await run(tape.url, 'streamableHttp'), path, calls: tape.calls }
}

/** Lets the protocol version be any where the client did not say it: SDK v1 does not over SSE. */
function withAnyVersion(seen: object): object {
  const { handshake } = seen as { readonly handshake: { readonly version?: string } }
  const { version = expect.any(String) as unknown } = handshake
  return { ...seen, handshake: { ...handshake, version } }
}

const clients: readonly [string, Open][] = [
  ['SDK v1', openClient('v1')],
  ['SDK v2', openClient('v2')],
  ['SDK v2 of the newest protocol version', openClient('v2 auto')],
]

describe.each(clients)('a tape of a client of %s', (_name, connect) => {
  it('has the same responses as a server without sessions', async () => {
    const server = open(await startUpstream('modern'))
    const { direct, played, calls } = await twice(server.url, connect, 'streamableHttp', playModern)
    expect(direct).toMatchObject({ structured: { structuredContent: { sum: 5 } } })
    expect(played).toEqual(direct)
    expect(calls.filter(({ from }) => from !== 'tape')).toEqual([])
  })

  it.each(['streamableHttp', 'sse'] as const)(
    'has the same responses as the reference server over %s, and asks the client as it did',
    async (kind) => {
      const server = await startUpstream('everything', kind)
      open({ close: () => server.stop() })
      const { direct, played } = await twice(server.url, connect, kind, playReference)
      expect(direct).toMatchObject({ progress: [{ progress: 1 }, { progress: 2 }] })
      expect(direct).toMatchObject({ asked: ['elicitation/create', 'sampling/createMessage'] })
      expect(played).toEqual(withAnyVersion(direct))
    },
  )
})

it('plays a request for input and the result that followed it', async () => {
  const server = open(await startUpstream('modern'))
  const connect = openClient('v2 auto')
  const play = async (client: InteropClientV2): Promise<unknown> => client.call('ask')
  const { direct, played, path } = await twice(
    server.url,
    connect,
    'streamableHttp',
    async (client) => ({ asked: await play(client as InteropClientV2) }),
  )
  expect(direct).toMatchObject({ asked: { content: [{ text: 'To London' }] } })
  expect(played).toEqual(direct)
  const kinds = (await linesOf(path)).map(
    ({ result }) => (result as { resultType?: string })?.resultType,
  )
  expect(kinds).toContain('input_required')
})
