import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request, type RequestOptions } from 'node:http'
import { integerText } from '#base'
import { millis, type Phase, type PhaseResult } from '../phase.ts'
import { Histogram } from '../../load/results/histogram.ts'
import type { DemoScreen } from '../screen.ts'
import { seededCalls } from '../demo-tools.ts'
import type { Stage } from '../stage.ts'

const SEED = 20_260_728
const WARM_UP = 100
// A loaded machine compares fewer calls, and reports how many.
const BUDGET_MS = 1_000
const CALLS = 1_000
// These belong to one connection, and there are two where a proxy is between.
const OF_THE_CONNECTION = new Set(['connection', 'keep-alive', 'transfer-encoding'])
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

type Route = ReturnType<typeof routeTo>

/** Sends messages to one port, and measures and hashes the responses. */
function routeTo(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times = new Histogram()
  const hash = createHash('sha256')
  let bytes = 0
  return {
    ask: async (message: object): Promise<Buffer> => {
      const startedAt = performance.now()
      const place = { agent, host: '127.0.0.1', port, path: '/mcp' }
      const response = await exchange(place, JSON.stringify({ jsonrpc: '2.0', ...message }))
      times.add(performance.now() - startedAt)
      hash.update(response)
      bytes += response.length
      return response
    },
    /** Ends the connection, and returns what was measured. */
    close: () => {
      agent.destroy()
      const [p50Ms, p99Ms] = [times.quantile(0.5)!, times.quantile(0.99)!]
      return { bytes, sha256: hash.digest('hex'), p50Ms, p99Ms }
    },
  }
}

/** Returns status, header lines in order and casing, and body, as they came off the wire. */
async function exchange(place: RequestOptions, body: string): Promise<Buffer> {
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'Content-Length': Buffer.byteLength(body),
  }
  const outgoing = request({ ...place, method: 'POST', headers }).end(body)
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  const { rawHeaders, statusCode, statusMessage } = incoming
  const lines = rawHeaders.flatMap((name, i) =>
    i % 2 === 1 || OF_THE_CONNECTION.has(name.toLowerCase()) ? [] : `${name}: ${rawHeaders[i + 1]}`,
  )
  const head = [`${statusCode} ${statusMessage}`, ...lines, '', ''].join('\r\n')
  return Buffer.concat([Buffer.from(head), ...((await incoming.toArray()) as Buffer[])])
}

/** Sends each message twice, directly and through Squall, and compares the responses. */
export const transparency: Phase = {
  key: 'transparency',
  title: 'Responses are unchanged',
  async run(stage: Stage, screen: DemoScreen): Promise<PhaseResult> {
    const calls = [...HANDSHAKE, ...seededCalls(SEED, CALLS - HANDSHAKE.length)]
    screen.line('   Each message is sent twice: straight to the server, and through Squall.')
    screen.line('   Then both responses are compared.')
    await compare(stage, calls.slice(0, WARM_UP), () => {})
    const { direct, through, sent, equal } = await compare(stage, calls, (done) =>
      screen.progress(done / calls.length, `${done} messages`),
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
    screen.line(screen.paint('quiet', '     (except hop-by-hop headers, such as Keep-Alive)'))
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
            : `only ${integerText(equal)} of ${integerText(sent)} responses are the same with and without Squall`,
        },
      ],
    }
  },
}

async function compare(
  stage: Stage,
  messages: readonly object[],
  progress: (done: number) => void,
) {
  const direct = routeTo(stage.server.port)
  const through = routeTo(Number(stage.target.url.port))
  const until = performance.now() + BUDGET_MS
  let sent = 0
  let equal = 0
  for (const [i, message] of messages.entries()) {
    // The two alternate in being first, so that other load on the machine affects both equally.
    const order = i % 2 === 0 ? [direct, through] : [through, direct]
    const responses = [await order[0]!.ask(message), await order[1]!.ask(message)]
    if (responses[0]!.equals(responses[1]!)) equal++
    sent++
    progress(sent)
    if (performance.now() > until && sent > HANDSHAKE.length) break
  }
  return { direct: direct.close(), through: through.close(), sent, equal }
}

function shown({ bytes, sha256 }: ReturnType<Route['close']>): string {
  return `${integerText(bytes)} bytes   sha-256 ${sha256.slice(0, 24)}…`
}

function latency(direct: number, through: number): string {
  const added = through - direct
  return `${millis(direct)} → ${millis(through)} ms (${added < 0 ? '' : '+'}${millis(added)})`
}
