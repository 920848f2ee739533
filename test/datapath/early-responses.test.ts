import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { callMessage, rpcPost, startSidecar } from '../support/wire.ts'

const opened = closers()

it.each(['fast', 'standard'] as const)(
  'an upstream may respond before it has the whole body, and the client sends the rest, %s',
  async (engine) => {
    const stage = opened(
      await startSidecar({
        engine,
        upstream: (req, res) => {
          const isLarge = Number(req.headers['content-length']) > 2 ** 20
          // The sidecar has read a part of the body then, and not the rest.
          if (isLarge) req.once('data', () => res.writeHead(413).end('too large'))
          else req.resume().on('end', () => res.end('small'))
        },
      }),
    )
    const socket = connect(stage.port, '127.0.0.1')
    const large = { ...callMessage(1), params: { name: 'echo', text: 'x'.repeat(16 * 2 ** 20) } }
    // The second request waits behind the whole first one.
    socket.write(rpcPost(JSON.stringify(large)) + rpcPost(JSON.stringify(callMessage(2))))
    let text = ''
    for await (const piece of socket) {
      text += String(piece)
      if (text.includes('small')) break
    }
    expect(text).toMatch(/^HTTP\/1\.1 413 .*too large.*HTTP\/1\.1 200 .*small/s)
  },
)
