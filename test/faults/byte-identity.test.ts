import { array, assert, asyncProperty, constantFrom, nat } from 'fast-check'
import { expect, it } from 'vitest'
import type { Fault } from '../../src/filters/fault.ts'
import { closers } from '../support/closers.ts'
import { chunk, exchange, startSidecar, toolCall } from '../support/wire.ts'
import { rounds } from '../support/rounds.ts'
import { REPLACED } from './one-fault.ts'

const opened = closers()

const LOOKING: Fault = {
  beforeResponse: () => ({ kind: 'continue' }),
  async *onResponse(_, frames) {
    for await (const frame of frames) yield frame
  },
}

/**
 * Starts a sidecar whose faults change nothing. Returns a function that sends chunks through it as
 * the response to a call, and resolves with the body that the client received.
 */
async function looking(type: string) {
  let chunks: readonly Buffer[] = []
  const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`
  const squall = opened(
    await startSidecar({
      rules: [REPLACED],
      faults: [LOOKING, LOOKING],
      maxBody: 200,
      upstream: { script: (each) => void each.send([head, ...chunks.map(chunk), chunk('')]) },
    }),
  )
  const through = async (sent: readonly Buffer[]): Promise<Buffer> => {
    chunks = sent.filter((each) => each.length > 0)
    const { response } = await exchange(squall.port, toolCall(1), 'POST')
    return response!.body
  }
  return { ...squall, through }
}

const piece = constantFrom(
  'data: {"jsonrpc":"2.0","id":1,"result":{}}',
  'data: {"jsonrpc":"2.0","method":"notifications/x"}',
  'data: ü\u2028',
  ': comment',
  'id: 7',
  'retry: 10',
  `data: ${'long '.repeat(60)}`,
  '',
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '\r\n\r\n',
  '\r\r',
)

it.each(['text/event-stream', 'application/json'])(
  'a fault that only looks changes no byte of %s, whatever the chunks',
  async (type) => {
    const { faults, through } = await looking(type)
    let calls = 0
    await assert(
      asyncProperty(array(piece), array(nat(40)), async (pieces, cuts) => {
        const bytes = Buffer.from(pieces.join(''))
        const chunks: Buffer[] = []
        let at = 0
        for (const cut of cuts) {
          chunks.push(bytes.subarray(at, at + cut))
          at += cut
        }
        chunks.push(bytes.subarray(at))
        calls++
        expect((await through(chunks)).equals(bytes)).toBe(true)
      }),
      { numRuns: rounds(60, 200) },
    )
    expect(faults!.counts()).toMatchObject({ matched: calls, injected: 0 })
    expect([faults!.injected, faults!.broken]).toEqual([[], []])
  },
)
