import { afterEach, expect, test } from 'vitest'
import { event, LAST_CHUNK, post, request, result, Stage, streamHead } from '../accounting/stage.ts'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { bytesHeld } from '../support/bytes-held.ts'
import { drained, RawClient } from '../support/wire.ts'
import { rounds, someOf } from '../support/rounds.ts'

const MIB = 1024 * 1024
// Well above what may be kept.
const EVENTS = rounds(14, 20)
/** One MiB in events of 4 KiB. */
const PIECE = Buffer.concat(
  Array.from({ length: 256 }, () =>
    event({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'x'.repeat(4000) } }),
  ),
)
const SLACK = 12 * MIB
/** Pieces between two looks at the memory, because each collects garbage. */
const LOOK = rounds(14, 5)

const FAULTS: readonly (readonly [string, RuleSpec['faults'][number]])[] = [
  ['delay at event', { fault: 'delay', config: { fixed: 0, at: 'event', max: 1 } }],
  ['delay at response', { fault: 'delay', config: { fixed: 5, at: 'response', max: 10 } }],
  ['stream drop last', { fault: 'stream', config: { drop: 'last' } }],
  ['stream split last', { fault: 'stream', config: { split: 'last', pieces: 3, pause: 1 } }],
  ['reset before the response', { fault: 'reset', config: { at: 'stream', how: 'rst' } }],
  [
    'reset after events',
    { fault: 'reset', config: { at: 'stream', after: { events: 256 * EVENTS }, how: 'fin' } },
  ],
  ['corrupt', { fault: 'corrupt', config: { mode: 'garbage' } }],
  ['abort at response', { fault: 'abort', config: { toolError: 'injected', at: 'response' } }],
]

// Each fault with either kind of client where there are many rounds; else the first.
const CASES = someOf(
  FAULTS.flatMap(([name, use]) => [false, true].map((slow) => ({ name, use, slow }))),
  16,
)

let stage: Stage
afterEach(() => stage.close())

test.each(CASES)(
  'a stream that is large is not kept: $name, slow client: $slow',
  async ({ use, slow }) => {
    let peak = 0
    let sent = 0
    const look = (): void => {
      peak = Math.max(peak, memoryHeld())
    }
    stage = await Stage.open(
      async (exchange) => {
        const { socket } = exchange
        await exchange.write(streamHead())
        for (; sent < EVENTS && !socket.destroyed; sent++) {
          if (sent % LOOK === LOOK - 1) look()
          if (!socket.write(PIECE)) await drained(socket)
        }
        await exchange.write(event(result(1)))
        await exchange.write(LAST_CHUNK)
      },
      { rules: [{ name: 'r', match: { tool: 'echo' }, faults: [use] }] },
    )
    const client = await RawClient.connect(stage.squall.port, { keepBody: false, keepBytes: false })
    const before = memoryHeld()
    await client.send(post(request(1)), 'POST')
    if (slow) await readSlowly(client, look, () => sent)
    await Promise.race([client.response(), client.gone])
    look()
    client.close()
    expect(client.received).toBeGreaterThan(EVENTS * MIB)
    expect(stage.squall.faults!.injected).not.toEqual([])
    expect(stage.squall.faults!.broken).toEqual([])
    expect(peak - before).toBeLessThan(SLACK)
  },
)

/** Returns the size of heap and buffers. */
function memoryHeld(): number {
  const { heapUsed, external } = bytesHeld()
  return heapUsed + external
}

/** Reads nothing until the upstream can send no more, and then a little at a time. */
async function readSlowly(
  { socket }: RawClient,
  look: () => void,
  sent: () => number,
): Promise<void> {
  const pause = async (ms: number): Promise<void> => {
    socket.pause()
    await new Promise((resolve) => setTimeout(resolve, ms))
  }
  for (let before = -1; before !== sent();) {
    before = sent()
    await pause(100)
  }
  look()
  for (let turn = 0; turn < rounds(0, 3); turn++) {
    socket.resume()
    await new Promise((resolve) => setTimeout(resolve, 3))
    await pause(30)
    look()
  }
  socket.resume()
}
