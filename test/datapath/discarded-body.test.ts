// part: slow
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { callMessage, rpcPost, startSidecar } from '../support/wire.ts'

const opened = closers()
/** The time for which the sidecar discards a body, and what a busy machine adds to it. */
const LEAST_MS = 9_500
const MOST_MS = 25_000

it.each(['fast', 'standard'] as const)(
  'a client that sends the unwanted rest of a body for too long is cut, %s',
  async (engine) => {
    const stage = opened(
      await startSidecar({
        engine,
        // The sidecar has read a part of the body then, and not the rest.
        upstream: (req, res) => void req.once('data', () => res.writeHead(413).end('too large')),
      }),
    )
    const large = { ...callMessage(1), params: { name: 'echo', text: 'x'.repeat(16 * 2 ** 20) } }
    const bytes = Buffer.from(rpcPost(JSON.stringify(large)))
    const half = bytes.length / 2
    const socket = connect(stage.port, '127.0.0.1')
    // The cut is a reset where bytes are under way.
    const closed = new Promise((resolve) => socket.on('error', resolve).on('close', resolve))
    let text = ''
    const responded = new Promise<void>((resolve) => {
      socket.on('data', (piece) => {
        text += String(piece)
        if (text.includes('too large')) resolve()
      })
    })
    socket.write(bytes.subarray(0, half))
    await responded
    expect(text).toMatch(/^HTTP\/1\.1 413 /)
    const began = performance.now()
    let at = half
    // Slow, and never silent.
    const trickle = setInterval(() => socket.write(bytes.subarray(at, ++at)), 100)
    await closed
    clearInterval(trickle)
    const took = performance.now() - began
    expect(took).toBeGreaterThan(LEAST_MS)
    expect(took).toBeLessThan(MOST_MS)
  },
)
