import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { ChunkRun } from '../../../src/http/chunk-run.ts'
import type { RequestHead } from '../../../src/http/headers.ts'
import type { ResponseSink } from '../../../src/http/transfer.ts'
import { UpstreamConnections } from '../../../src/upstream/http-upstream.ts'
import { createConnector } from '../../../src/upstream/connector.ts'
import { closers } from '../../support/closers.ts'
import { chunk, type RawApp, startUpstream, STREAM_HEAD } from '../../support/wire.ts'

const opened = closers()
const HEAD: RequestHead = { method: 'GET', target: '/mcp', version: '1.1', headers: ['Host', 'a'] }

const NOTHING: ResponseSink = {
  info: () => undefined,
  head: () => undefined,
  data: () => true,
  end: () => undefined,
  fail: () => undefined,
}

function appAt({ url }: RawApp): UpstreamConnections {
  const port = Number(new URL(url).port)
  const address = { kind: 'tcp', tls: false, host: '127.0.0.1', port } as const
  const connector = createConnector({ address, timeout: 5000, tls: () => ({}) })
  return opened(
    new UpstreamConnections({
      address,
      fast: true,
      connector,
      idle: 1000,
      maxResponseHead: 4096,
      reuse: true,
      others: () => 0,
      maxConnections: 5,
      onConnections: () => undefined,
      now: () => 0,
    }),
  )
}

/** Takes a stream, one piece at a time: chunk by chunk, or as runs of chunks. */
class SlowSink implements ResponseSink {
  text = ''
  readonly chunks?: (run: ChunkRun) => boolean
  #told: (() => void) | undefined

  constructor(runs: boolean) {
    if (runs) this.chunks = (run) => run.each((part) => this.data(part)) && false
  }

  info(): void {}
  head(): void {}
  fail(): void {}

  data(part: Uint8Array): boolean {
    this.text += Buffer.from(part).toString()
    this.#told?.()
    return false
  }

  end(): void {
    this.text += 'END'
    this.#told?.()
  }

  async has(text: string): Promise<void> {
    while (this.text !== text) await new Promise<void>((resolve) => (this.#told = resolve))
  }
}

/** A whole exchange beside it: what the upstream sent before has come by then, were it read. */
async function meanwhile(upstream: UpstreamConnections['upstream']): Promise<void> {
  await new Promise<void>((resolve) => {
    upstream.send({ ...HEAD, target: '/other' }, null, { ...NOTHING, end: () => resolve() })
  })
  for (let i = 0; i < 10; i++) await turn()
}

test.each([true, false])('whoever asks for a pause is given no more (runs: %j)', async (runs) => {
  const app = opened(
    await startUpstream({
      script: (e) => {
        if (e.request.target === '/other') void e.write('HTTP/1.1 204 No Content\r\n\r\n')
        else void e.write(STREAM_HEAD + chunk('a') + chunk('b'))
      },
    }),
  )
  const { upstream } = appAt(app)
  const sink = new SlowSink(runs)
  const transfer = upstream.send(HEAD, null, sink)
  await sink.has('ab')
  for (const [more, all] of [
    [chunk('c'), 'abc'],
    [Buffer.concat([chunk('d'), chunk('e')]), 'abcde'],
    ['0\r\n\r\n', 'abcdeEND'],
  ] as const) {
    const before = sink.text
    app.connections[0]!.socket.write(more)
    await meanwhile(upstream)
    expect(sink.text).toBe(before)
    transfer.resume()
    await sink.has(all)
  }
})

test('who gives up in the middle of a run is given no more of it', async () => {
  const app = opened(
    await startUpstream({
      script: (e) => void e.write(STREAM_HEAD + chunk('a') + chunk('b') + chunk('c')),
    }),
  )
  const { upstream } = appAt(app)
  let text = ''
  await new Promise<void>((resolve) => {
    const transfer = upstream.send(HEAD, null, {
      ...NOTHING,
      data: (part) => {
        text += Buffer.from(part).toString()
        if (text === 'ab') transfer.abort()
        if (text === 'ab') setImmediate(resolve)
        return true
      },
    })
  })
  expect(text).toBe('ab')
})
