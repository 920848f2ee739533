/**
 * A hostile or broken upstream responds to one faulted call with 256 KiB of line breaks, and every
 * other call waits for seconds: each line break was a piece of its own, taken off a list in time
 * that grew with the list, and nothing else ran. Whatever an upstream sends costs time in
 * proportion to its bytes, and other calls run in between.
 */
import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { call, callMessage, type RunningSidecar, startSidecar } from '../support/wire.ts'
import { someOf } from '../support/rounds.ts'
import { stepsOf } from './thread-cpu.ts'
import { oneFault } from './one-fault.ts'
import { whenAsked } from './apps.ts'

const opened = closers()
const KIB = 1024

/**
 * Milliseconds of CPU, which other load does not lengthen. These took up to 2 s, and take 30 ms at
 * most.
 */
const MOST_AT_ONCE = 500

/**
 * Responds to `echo` with these bytes in one piece or byte by byte, and every other tool at once.
 */
function appOf(type: string, bytes: string, bytewise: boolean): RequestListener {
  const pieces = bytewise ? Array.from(bytes) : [bytes]
  return (req, res) => {
    whenAsked(req, ([message]) => {
      const response = JSON.stringify({ jsonrpc: '2.0', id: message!.id, result: {} })
      if ((message as { params?: { name?: string } }).params?.name !== 'echo') {
        res.setHeader('content-type', 'application/json')
        res.end(response)
        return
      }
      res.setHeader('content-type', type)
      res.cork()
      for (const piece of pieces) res.write(piece)
      res.write(type === 'text/event-stream' ? `data: ${response}\n\n` : response)
      // Node 22 and 24 lose what is given to the end of a corked response.
      res.uncork()
      res.end()
    })
  }
}

/** The most CPU that is taken before other work runs, in milliseconds, while other calls go on. */
async function mostAtOnce(squall: RunningSidecar, over: Promise<unknown>): Promise<number> {
  const all = { over: false }
  void over.finally(() => (all.over = true))
  const others = (async () => {
    for (let id = 2; !all.over; id++) await call(squall, callMessage(id, 'other'))
  })()
  const { most } = await stepsOf(over)
  await others
  return most
}

const LATE = 'delay: { fixed: 0ms, at: event }'
const SSE = 'text/event-stream'

const CASES: [string, string, string, string, number, boolean][] = [
  ['line breaks', LATE, SSE, '\n', 1024 * KIB, false],
  ['comments', LATE, SSE, ':\n\n', 64 * KIB, false],
  ['events without a meaning', LATE, SSE, 'x\n\n', 32 * KIB, false],
  ['ids', 'stream: { drop: 999999 }', SSE, 'id:\n\n', 32 * KIB, false],
  ['line breaks, on their way out', 'hang: { at: event, for: 1ms }', SSE, '\n', 1024 * KIB, false],
  ['ids, on their way out', 'stream: { split: last, pause: 0ms }', SSE, 'id:\n\n', 64 * KIB, false],
  ['chunks of one byte', 'truncate: { after: { bytes: 1GiB } }', SSE, '\n', 32 * KIB, true],
  [
    'chunks of one byte, of JSON',
    'throttle: { rate: 1GiB }',
    'application/json',
    ' ',
    32 * KIB,
    true,
  ],
]

it.each(someOf(CASES, 4))(
  'other calls go on beside %s',
  async (_what, fault, type, unit, times, bytewise) => {
    const bytes = unit.repeat(times)
    const squall = opened(
      await startSidecar({ upstream: appOf(type, bytes, bytewise), rules: [oneFault(fault)] }),
    )
    const response = call(squall, callMessage(1))
    expect(await mostAtOnce(squall, response)).toBeLessThan(MOST_AT_ONCE)
    const { text } = await response
    const sent = text.replaceAll(/: x-squall-fault [^\n]*\n\n/g, '')
    expect(sent.startsWith(bytes)).toBe(true)
    expect(sent.slice(bytes.length)).toContain('"result":{}')
    expect(squall.faults.active).toBe(0)
  },
)
