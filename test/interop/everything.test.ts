// part: slow
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Everything, type OpenClient, openClient, startUpstream } from '../support/wire.ts'
import { playEverything } from './everything-scenario.ts'
import { playTwice } from './through-squall.ts'

const clients: [string, OpenClient][] = [
  ['the SDK v1 client', openClient('v1')],
  ['the SDK v2 client', openClient('v2')],
  ['the SDK v2 client that asks for the newest protocol version', openClient('v2 auto')],
]

describe.each(['streamableHttp', 'sse'] as const)('the reference server over %s', (transport) => {
  let server: Everything

  beforeAll(async () => {
    server = await startUpstream('everything', transport)
  })
  afterAll(() => server.stop())

  it.concurrent.each(clients)('looks the same through Squall to %s', async (_name, open) => {
    const { direct, throughSquall } = await playTwice(server.url, (url) =>
      playEverything(open, url, transport),
    )

    expect(direct.tools.tools.length).toBeGreaterThan(10)
    expect(direct.echo).toMatchObject({ content: [{ text: 'Echo: grüße 🌊' }] })
    expect(direct.progress).toEqual([1, 2].map((step) => ({ progress: step, total: 3 })))
    expect(direct.received.map(({ method }) => method)).toEqual(
      expect.arrayContaining(['elicitation/create', 'sampling/createMessage', 'roots/list']),
    )
    expect(direct.unknownTool).toMatchObject({ result: { isError: true } })
    expect(direct.unknownResource).toHaveProperty('error.code')
    expect(direct.cancelled).toHaveProperty('error')
    expect(throughSquall).toEqual(direct)
  })
})
