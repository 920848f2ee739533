import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { mutatedRequest } from './head-mutator.ts'
import { Random, seedOfRun } from '../support/random.ts'
import {
  type AppRequest,
  RawClient,
  startSidecar,
  startUpstream,
  valuesOf,
} from '../support/wire.ts'
import { rounds } from '../support/rounds.ts'

const CASES = rounds(250, 3200)
const WORKERS = 8
/** The wait for an unfinished request before the client hangs up. */
const SILENCE = 40
/** The longest wait for the server to close after that. */
const CLOSING = 5_000
/** The headers that a hop may keep, such as an Expect that it handled itself. */
const HOP_BY_HOP = new Set(
  'connection keep-alive proxy-connection transfer-encoding upgrade te expect'.split(' '),
)

/** A request as one parser understood it. */
interface Understood {
  readonly method: string
  readonly target: string
  readonly headers: readonly string[]
  readonly body: string
}

interface NodeServer {
  readonly port: number
  readonly close: () => Promise<void>
  readonly understood: Understood[]
}

/** A bare Node server with its strict parser, which notes what it accepts. */
async function startNodeServer(): Promise<NodeServer> {
  const understood: Understood[] = []
  // A request without a Host is not a matter of parsing.
  const options = { insecureHTTPParser: false, requireHostHeader: false, keepAliveTimeout: 0 }
  const server = createServer(options, (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('error', () => undefined)
    request.on('end', () => {
      const { method = '', url = '', rawHeaders } = request
      understood.push({
        method,
        target: url,
        headers: rawHeaders,
        body: Buffer.concat(parts).toString('latin1'),
      })
      response.end('ok')
    })
  })
  // Node leaves these outside of 'request'; they are understood all the same. Without a listener,
  // an offer to upgrade is a request like any other.
  server.on(
    'checkExpectation',
    (request, response) => void server.emit('request', request, response),
  )
  const { port, close } = await startUpstream(server)
  return { port, close, understood }
}

async function strike(port: number, bytes: Buffer): Promise<void> {
  const client = await RawClient.connect(port)
  await client.send(bytes, 'GET')
  await Promise.race([client.gone, client.response(), sleep(SILENCE)])
  client.socket.end()
  // Closing earlier would take unread bytes from a busy server.
  await Promise.race([client.gone, sleep(CLOSING)])
  client.close()
}

/** Why what the upstream saw is not what Node understood; undefined when it is. */
function disagreement(app: AppRequest, node: Understood | undefined): string | undefined {
  if (node === undefined) return 'Node did not accept it'
  if (app.method !== node.method || app.target !== node.target) return 'another method or target'
  if (app.body.toString('latin1') !== node.body) return 'another body'
  const nominated = valuesOf(node.headers, 'connection')
    .join(',')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  let at = 0
  for (let i = 0; i + 1 < app.headers.length; i += 2) {
    const name = app.headers[i]!.toLowerCase()
    if (name === 'connection' || name === 'transfer-encoding') continue
    for (; at + 1 < node.headers.length; at += 2) {
      if (node.headers[at] === app.headers[i] && node.headers[at + 1] === app.headers[i + 1]) break
      const skipped = node.headers[at]!.toLowerCase()
      if (!HOP_BY_HOP.has(skipped) && !nominated.includes(skipped)) return `${skipped} was lost`
    }
    if (at >= node.headers.length) return `${name} came from nowhere`
    at += 2
  }
  return undefined
}

/** Identifies requests by their case; on a busy machine they may arrive during a later one. */
const LATE = 4

interface Noted<T> {
  readonly at: number
  readonly request: T
}

/**
 * The reasons why requests at the upstream have no counterpart among those that Node understood.
 */
function unmatched(
  atApp: readonly Noted<AppRequest>[],
  atNode: readonly Noted<Understood>[],
  cases: readonly Buffer[],
): string[] {
  const used = new Set<Noted<Understood>>()
  const problems: string[] = []
  for (const { at, request } of atApp) {
    const near = atNode.filter((node) => !used.has(node) && Math.abs(node.at - at) <= LATE)
    const match = near.find((node) => disagreement(request, node.request) === undefined)
    if (match !== undefined) {
      used.add(match)
      continue
    }
    const reason = disagreement(request, near.find((node) => node.at === at)?.request)
    problems.push(`${reason}: ${JSON.stringify(cases[at]!.toString('latin1'))}`)
  }
  return problems
}

interface LaneResult {
  readonly problems: readonly string[]
  readonly passed: number
  readonly accepted: number
}

async function runWorker(next: () => Buffer | undefined): Promise<LaneResult> {
  const squall = await startSidecar({ upstream: {} })
  const { app } = squall
  const node = await startNodeServer()
  const cases: Buffer[] = []
  const atApp: Noted<AppRequest>[] = []
  const atNode: Noted<Understood>[] = []
  const refused: string[] = []
  for (let bytes = next(); bytes !== undefined; bytes = next()) {
    const at = cases.push(bytes) - 1
    const violations = app.violations().length
    await Promise.all([strike(node.port, bytes), strike(squall.port, bytes)])
    for (const violation of app.violations().slice(violations)) {
      refused.push(`${violation}: ${JSON.stringify(bytes.toString('latin1'))}`)
    }
    atApp.push(...app.requests.splice(0).map((request) => ({ at, request })))
    atNode.push(...node.understood.splice(0).map((request) => ({ at, request })))
  }
  await squall.close()
  await node.close()
  const problems = [...refused, ...unmatched(atApp, atNode, cases)]
  return { problems, passed: atApp.length, accepted: atNode.length }
}

test(
  'nothing reaches the upstream that a strict Node server would refuse or understand otherwise',
  { timeout: 90_000 },
  async () => {
    const seed = seedOfRun()
    const random = new Random(seed)
    let left = CASES
    const next = (): Buffer | undefined => (left-- > 0 ? mutatedRequest(random) : undefined)
    const workers = await Promise.all(Array.from({ length: WORKERS }, () => runWorker(next)))
    const problems = workers.flatMap((worker) => worker.problems)
    const passed = workers.reduce((sum, worker) => sum + worker.passed, 0)
    const accepted = workers.reduce((sum, worker) => sum + worker.accepted, 0)
    const message = `SQUALL_TEST_SEED=${seed}: ${problems.length} problems, ${passed} passed, ${accepted} accepted by Node`
    expect(problems.slice(0, 8), message).toEqual([])
    // A proxy that rejects everything would agree as well.
    expect(accepted, message).toBeGreaterThan(CASES / 10)
    expect(passed, message).toBeGreaterThan(accepted * 0.4)
  },
)
