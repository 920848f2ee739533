import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { planConnections, type PlannedConnection } from './exchange-generator.ts'
import { Random, seedOfRun } from '../support/random.ts'
import {
  type ClientResponse,
  type RawApp,
  RawClient,
  type ScriptedSidecar,
  startSidecar,
  valueOf,
  type WireMessage,
} from '../support/wire.ts'
import { rounds } from '../support/rounds.ts'

const COUNT = rounds(50, 2000)
const MIB = 1024 * 1024
const BIGS = [rounds(5, 20) * MIB, rounds(1, 5) * MIB, rounds(1, 3) * MIB]
const WORKERS = 6
/** An exchange that takes longer has got stuck, which is a difference like any other. */
const STUCK = 15_000
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding'])

let app: RawApp
let squall: ScriptedSidecar

beforeAll(async () => {
  squall = await startSidecar({ upstream: { keepBytes: false } })
  app = squall.app
})

afterAll(() => squall.close())

function endToEnd(headers: readonly string[]): string[] {
  const kept: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (!HOP_BY_HOP.has(headers[i]!.toLowerCase())) kept.push(`${headers[i]!}: ${headers[i + 1]!}`)
  }
  return kept
}

function digest(message: WireMessage): string {
  const hash = createHash('sha1').update(message.body).digest('hex').slice(0, 12)
  return `${message.bodyBytes} bytes ${hash}`
}

/** Returns a request as the server saw it, without the headers of the connection. */
function requestSeen(request: WireMessage): object {
  const { startLine, headers, framing, trailers } = request
  return { startLine, headers: endToEnd(headers), framing, body: digest(request), trailers }
}

/**
 * Returns a response as the client saw it. The framing may differ: it belongs to the connection.
 */
function responseSeen(response: ClientResponse | undefined): object {
  if (response === undefined) return { none: true }
  const { status, reason, headers, trailers, complete } = response
  const infos = response.infos.map((info) => [info.startLine.slice(9), ...endToEnd(info.headers)])
  return {
    status,
    reason,
    headers: endToEnd(headers),
    infos,
    body: digest(response),
    trailers,
    complete,
  }
}

/** Runs planned connections, a few at a time, and returns what each side saw, by exchange. */
async function run(
  port: number,
  plan: readonly PlannedConnection[],
  seed: number,
): Promise<Map<string, object>> {
  const seen = new Map<string, object>()
  const queue = plan.entries()
  const worker = async (): Promise<void> => {
    for (const [index, { exchanges, pipelined }] of queue) {
      const random = new Random(seed + index)
      const client = await RawClient.connect(port, { keepBytes: false })
      const responses: (ClientResponse | undefined)[] = []
      if (pipelined) {
        const all = Buffer.concat(exchanges.map(({ request }) => request))
        for (const { method } of exchanges) await client.send([], method)
        await client.send(random.cut(all, 8))
      }
      for (const [i, { request, method }] of exchanges.entries()) {
        if (!pipelined) await client.send(random.cut(request, random.pick([1, 1, 3, 20])), method)
        responses.push(
          await Promise.race([client.response(i), sleep(STUCK, undefined, { ref: false })]),
        )
      }
      const closes = exchanges.at(-1)!.closes
      const closeState = closes
        ? await Promise.race([client.gone, sleep(STUCK, 'open', { ref: false })])
        : 'kept'
      client.close()
      exchanges.forEach(({ id }, i) => {
        seen.set(id, {
          response: responseSeen(responses[i]),
          closeState,
          violations: client.violations,
        })
      })
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, worker))
  for (const request of app.requests) {
    const id = valueOf(request.headers, 'x-script')!
    const soFar = seen.get(id)
    if (soFar === undefined) continue
    seen.set(id, { ...soFar, request: 'request' in soFar ? 'seen twice' : requestSeen(request) })
  }
  app.requests.length = 0
  return seen
}

test(
  'random exchanges look the same with and without the sidecar, on both ends',
  { timeout: 60_000 },
  async () => {
    const seed = seedOfRun()
    const plan = planConnections(new Random(seed), COUNT, BIGS)
    for (const { exchanges } of plan) {
      for (const { id, script } of exchanges) app.scripts.set(id, script)
    }
    const direct = await run(app.port, plan, seed)
    const through = await run(squall.port, plan, seed)
    expect(direct.size).toBe(COUNT)
    expect(app.violations(), `SQUALL_TEST_SEED=${seed}`).toEqual([])
    const differing = [...direct.keys()].filter(
      (id) => JSON.stringify(direct.get(id)) !== JSON.stringify(through.get(id)),
    )
    const first = differing.slice(0, 3)
    const message = `SQUALL_TEST_SEED=${seed}: ${differing.length} of ${COUNT} differ`
    expect(
      first.map((id) => ({ id, ...through.get(id) })),
      message,
    ).toEqual(first.map((id) => ({ id, ...direct.get(id) })))
    expect(differing, message).toEqual([])
  },
)
