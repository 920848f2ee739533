// part: slow
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ModernServer, type OpenClient, openClient, startUpstream } from '../support/wire.ts'
import { playModern, playNewest } from './modern-scenario.ts'
import { playTwice } from './through-squall.ts'

describe('a server of protocol version 2026-07-28', () => {
  let server: ModernServer

  beforeAll(async () => {
    server = await startUpstream('modern')
  })
  afterAll(() => server.close())

  it.each<[string, OpenClient]>([
    ['the SDK v1 client', openClient('v1')],
    ['the SDK v2 client', openClient('v2')],
  ])(
    'looks the same through Squall to %s, which is of an older protocol version',
    async (_name, open) => {
      const { direct, throughSquall } = await playTwice(server.url, (url) =>
        playModern(open, url, server),
      )

      expect(direct.echo).toMatchObject({ content: [{ text: 'Echo: grüße 🌊' }] })
      expect(direct.structured).toMatchObject({ structuredContent: { sum: 5 } })
      expect(direct.failed).toMatchObject({ isError: true })
      expect(throughSquall).toEqual(direct)
    },
  )

  it('looks the same through Squall to a client of that protocol version', async () => {
    const { direct, throughSquall } = await playTwice(server.url, (url) =>
      playNewest(openClient('v2 auto'), url, server),
    )

    expect(direct.handshake).toMatchObject({ protocolVersion: 'modern', version: '2026-07-28' })
    expect(direct.progress).toEqual([1, 2, 3].map((step) => ({ progress: step, total: 4 })))
    expect(direct.foreign).toMatchObject({ messages: [{ content: { text: 'こんにちは' } }] })
    expect(direct.asked).toMatchObject({ content: [{ text: 'To London' }] })
    expect(direct.received.map(({ method }) => method)).toEqual([
      'notifications/message',
      'elicitation/create',
      'notifications/tools/list_changed',
    ])
    expect(direct.unknownTool).toMatchObject({ error: { code: -32602 } })
    expect(direct.cancelled).toHaveProperty('error')
    expect(direct.closed).toBe('local')
    expect(throughSquall).toEqual(direct)
  })
})
