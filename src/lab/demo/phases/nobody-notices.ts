import { createHash } from 'node:crypto'
import { wholeNumber } from '../../report/shown-numbers.ts'
import { difference, millis, percentile } from '../format.ts'
import type { Phase, PhaseResult } from '../phase.ts'
import { PlainClient, type WireResponse } from '../plain-client.ts'
import type { Screen } from '../screen.ts'
import { seededCalls } from '../seeded-calls.ts'
import type { Stage } from '../stage.ts'

const SEED = 20_260_728
const WARM_UP = 100
// A machine that has much else to do compares fewer, and says how many.
const BUDGET_MS = 1_000
const CALLS = 1_000
const HANDSHAKE = [
  {
    id: 'hello',
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'squall-demo', version: '1.0.0' },
    },
  },
  { method: 'notifications/initialized' },
  { id: 'list', method: 'tools/list', params: {} },
]

/** One of the two ways to the app. */
class Way {
  readonly client: PlainClient
  readonly times: number[] = []
  readonly #hash = createHash('sha256')
  bytes = 0

  constructor(port: number) {
    this.client = new PlainClient(port, 1)
  }

  async ask(message: object): Promise<WireResponse> {
    const response = await this.client.send(message)
    this.#hash.update(response.bytes)
    this.bytes += response.bytes.length
    this.times.push(response.milliseconds)
    return response
  }

  numbers(): { bytes: number; sha256: string; p50Ms: number; p99Ms: number } {
    const { bytes, times } = this
    const sha256 = this.#hash.copy().digest('hex')
    return { bytes, sha256, p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) }
  }
}

/** Makes each call twice, straight and through Squall, and compares what comes back. */
export const nobodyNotices: Phase = {
  key: 'nobodyNotices',
  title: 'Responses are unchanged',
  async run(stage: Stage, screen: Screen): Promise<PhaseResult> {
    const calls = [...HANDSHAKE, ...seededCalls(SEED, CALLS - HANDSHAKE.length)]
    screen.line('   Each message is sent twice: straight to the app, and through Squall.')
    screen.line('   Then both responses are compared.')
    await compare(stage, calls.slice(0, WARM_UP), () => {})
    const { direct, through, sent, equal } = await compare(stage, calls, (done) =>
      screen.progress(done / calls.length, done, 'messages'),
    )
    const one = direct.numbers()
    const two = through.numbers()
    const same = equal === sent && sent > HANDSHAKE.length && one.sha256 === two.sha256
    const added = { p50Ms: two.p50Ms - one.p50Ms, p99Ms: two.p99Ms - one.p99Ms }
    screen.line()
    screen.line(
      `   straight   ${wholeNumber(one.bytes)} bytes   sha-256 ${one.sha256.slice(0, 24)}…`,
    )
    screen.line(
      `   Squall     ${wholeNumber(two.bytes)} bytes   sha-256 ${two.sha256.slice(0, 24)}…`,
    )
    screen.check(
      same,
      `${wholeNumber(equal)} of ${wholeNumber(sent)} equal in status, header lines and body`,
    )
    screen.line(
      screen.paint('quiet', '     (but for headers of one connection, such as Keep-Alive)'),
    )
    screen.line(
      `     latency p50 ${latency(one.p50Ms, two.p50Ms)}   p99 ${latency(one.p99Ms, two.p99Ms)}`,
    )
    screen.line(
      screen.paint(
        'quiet',
        '     (on this machine, now: app, clients and Squall share one thread)',
      ),
    )
    return {
      numbers: { messages: sent, equal, direct: one, squall: two, added },
      checks: [{ what: 'answers are equal, byte for byte', ok: same }],
      summary: [
        {
          ok: same,
          word: 'invisible',
          text: same
            ? `${wholeNumber(equal)} responses, ${wholeNumber(two.bytes)} bytes with and without Squall: the same`
            : `of ${wholeNumber(sent)} answers with and without Squall ${wholeNumber(equal)} are the same`,
        },
      ],
    }
  },
}

interface Compared {
  readonly direct: Way
  readonly through: Way
  readonly sent: number
  readonly equal: number
}

async function compare(
  stage: Stage,
  messages: readonly object[],
  progress: (done: number) => void,
): Promise<Compared> {
  const direct = new Way(stage.app.port)
  const through = new Way(stage.sidecar.port)
  const until = performance.now() + BUDGET_MS
  let sent = 0
  let equal = 0
  for (const [i, message] of messages.entries()) {
    // In turns, and each first as often as the other: what else the machine does hits both alike.
    const order = i % 2 === 0 ? [direct, through] : [through, direct]
    const responses = [await order[0]!.ask(message), await order[1]!.ask(message)]
    if (responses[0]!.status !== 0 && responses[0]!.bytes.equals(responses[1]!.bytes)) equal++
    sent++
    progress(sent)
    if (performance.now() > until) break
  }
  direct.client.close()
  through.client.close()
  return { direct, through, sent, equal }
}

function latency(direct: number, through: number): string {
  return `${millis(direct)} → ${millis(through)} ms (${difference(through - direct)})`
}
