import { createHash } from 'node:crypto'
import { integerText } from '#base'
import { millis, type Phase, type PhaseResult } from '../phase.ts'
import { PlainClient, type WireResponse } from '../plain-client.ts'
import type { Screen } from '../screen.ts'
import { seededCalls } from '../demo-tools.ts'
import type { Stage } from '../stage.ts'

const SEED = 20_260_728
const WARM_UP = 100
// A loaded machine compares fewer calls, and reports how many.
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

interface Numbers {
  readonly bytes: number
  readonly sha256: string
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Sends messages to one port, and measures and hashes the responses. */
class Route {
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

  numbers(): Numbers {
    const { bytes, times } = this
    const sha256 = this.#hash.digest('hex')
    return { bytes, sha256, p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) }
  }
}

/** Sends each message twice, directly and through Squall, and compares the responses. */
export const nobodyNotices: Phase = {
  key: 'nobodyNotices',
  title: 'Responses are unchanged',
  async run(stage: Stage, screen: Screen): Promise<PhaseResult> {
    const calls = [...HANDSHAKE, ...seededCalls(SEED, CALLS - HANDSHAKE.length)]
    screen.line('   Each message is sent twice: straight to the server, and through Squall.')
    screen.line('   Then both responses are compared.')
    await compare(stage, calls.slice(0, WARM_UP), () => {})
    const { direct, through, sent, equal } = await compare(stage, calls, (done) =>
      screen.progress(done / calls.length, done, 'messages'),
    )
    const same = equal === sent && sent > HANDSHAKE.length && direct.sha256 === through.sha256
    const added = { p50Ms: through.p50Ms - direct.p50Ms, p99Ms: through.p99Ms - direct.p99Ms }
    screen.line()
    screen.line(`   straight   ${shown(direct)}`)
    screen.line(`   Squall     ${shown(through)}`)
    screen.check(
      same,
      `${integerText(equal)} of ${integerText(sent)} equal in status, header lines and body`,
    )
    screen.line(
      screen.paint('quiet', '     (but for headers of one connection, such as Keep-Alive)'),
    )
    screen.line(
      `     latency p50 ${latency(direct.p50Ms, through.p50Ms)}   p99 ${latency(direct.p99Ms, through.p99Ms)}`,
    )
    screen.line(
      screen.paint(
        'quiet',
        '     (on this machine, now: server, clients and Squall share one thread)',
      ),
    )
    return {
      numbers: { messages: sent, equal, direct, squall: through, added },
      checks: [{ what: 'responses are equal, byte for byte', ok: same }],
      summary: [
        {
          ok: same,
          word: 'invisible',
          text: same
            ? `${integerText(equal)} responses, ${integerText(through.bytes)} bytes with and without Squall: the same`
            : `of ${integerText(sent)} responses with and without Squall ${integerText(equal)} are the same`,
        },
      ],
    }
  },
}

interface Compared {
  readonly direct: Numbers
  readonly through: Numbers
  readonly sent: number
  readonly equal: number
}

async function compare(
  stage: Stage,
  messages: readonly object[],
  progress: (done: number) => void,
): Promise<Compared> {
  const direct = new Route(stage.server.port)
  const through = new Route(stage.sidecar.port)
  const until = performance.now() + BUDGET_MS
  let sent = 0
  let equal = 0
  for (const [i, message] of messages.entries()) {
    // The two alternate in being first, so that other load on the machine affects both equally.
    const order = i % 2 === 0 ? [direct, through] : [through, direct]
    const responses = [await order[0]!.ask(message), await order[1]!.ask(message)]
    if (responses[0]!.status !== 0 && responses[0]!.bytes.equals(responses[1]!.bytes)) equal++
    sent++
    progress(sent)
    if (performance.now() > until && sent > HANDSHAKE.length) break
  }
  direct.client.close()
  through.client.close()
  return { direct: direct.numbers(), through: through.numbers(), sent, equal }
}

function shown({ bytes, sha256 }: Numbers): string {
  return `${integerText(bytes)} bytes   sha-256 ${sha256.slice(0, 24)}…`
}

function latency(direct: number, through: number): string {
  const added = through - direct
  return `${millis(direct)} → ${millis(through)} ms (${added < 0 ? '' : '+'}${millis(added)})`
}

/** Returns the smallest value that at least this share of the values does not exceed. */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0
}
