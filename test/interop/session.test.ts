import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OpenClient, openClient, type SessionServer, startUpstream } from '../support/wire.ts'
import { playSession } from './session-scenario.ts'
import { playTwice } from './through-squall.ts'

describe('a server that drops its streams', () => {
  let server: SessionServer

  beforeAll(async () => {
    server = await startUpstream('session')
  })
  afterAll(() => server.host.close())

  it.each<[string, OpenClient]>([
    ['the SDK v1 client', openClient('v1')],
    ['the SDK v2 client', openClient('v2')],
  ])('is resumed, cancelled and left through Squall as without it by %s', async (_name, open) => {
    const { direct, throughSquall } = await playTwice(server.host.url, (url) =>
      playSession(open, url, server),
    )

    expect(direct).toMatchObject({
      ended: { content: [{ text: 'end the stream: done' }] },
      cut: { content: [{ text: 'be cut off: done' }] },
      serverSaw: 'the cancellation',
      resumptions: 2,
      sessionsEnded: 1,
    })
    expect(direct.received.map(({ params }) => (params as { data: string }).data)).toEqual([
      'before the end',
      'after the end',
      'before the cut',
      'after the cut',
    ])
    expect(direct.afterEnd).toHaveProperty('error')
    expect(throughSquall).toEqual(direct)
  })
})
