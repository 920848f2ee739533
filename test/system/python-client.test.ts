// part: clients
import { describe, expect, it } from 'vitest'
import { playTwice } from '../interop/through-squall.ts'
import { play } from './python-play.ts'
import { startUpstream } from '../support/wire.ts'

describe('the Python SDK', () => {
  it.each(['streamableHttp', 'sse'] as const)(
    'sees the same reference server through Squall over %s',
    async (transport) => {
      const server = await startUpstream('everything', transport)
      try {
        const { direct, throughSquall } = await playTwice(server.url, (url) =>
          play('everything', url, transport),
        )

        expect(direct['echo']).toMatchObject({ content: [{ text: 'Echo: grüße 🌊' }] })
        expect(direct['cancelled']).toBe('gave up')
        expect(direct.received.map(({ method }) => method)).toEqual([
          'roots/list',
          'notifications/message',
          'elicitation/create',
          'sampling/createMessage',
        ])
        expect(throughSquall).toEqual(direct)
      } finally {
        await server.stop()
      }
    },
  )

  it('sees the same server of protocol version 2026-07-28 through Squall', async () => {
    const server = await startUpstream('modern')
    try {
      const { direct, throughSquall } = await playTwice(server.url, async (url) => {
        const cancelled = server.cancelled()
        const seen = await play('modern', url)
        await cancelled
        return seen
      })

      expect(direct['handshake']).toMatchObject({ version: '2026-07-28' })
      expect(direct['asked']).toMatchObject({ content: [{ text: 'To London' }] })
      expect(direct['event']).toBe('ToolsListChanged')
      expect(throughSquall).toEqual(direct)
    } finally {
      await server.close()
    }
  })

  it('resumes a stream and cancels a call through Squall as without it', async () => {
    const server = await startUpstream('session')
    try {
      const { direct, throughSquall } = await playTwice(server.host.url, async (url) => {
        const before = server.resumptions
        const cancelled = server.cancelled()
        const seen = await play('session', url)
        await cancelled
        return { ...seen, resumptions: server.resumptions - before }
      })

      expect(direct).toMatchObject({
        ended: { content: [{ text: 'end the stream: done' }] },
        resumptions: 1,
      })
      expect(throughSquall).toEqual(direct)
    } finally {
      await server.host.close()
    }
  })
})
