// part: slow
// Each fault of mcp-chaos and mcp-chaos-monkey, converted, then seen by clients of the SDKs.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Host } from '../../matrix/host.ts'
import { resultOf } from '../../matrix/tool.ts'
import { closers } from '../../support/closers.ts'
import { openClient, outcome, startSidecar, startUpstream } from '../../support/wire.ts'
import { someOf } from '../../support/rounds.ts'
import { imported } from './imported.ts'
import { type OwnersFault, owned } from './owners-faults.ts'

const opened = closers()

interface Promised {
  readonly meets: object
  /** True when the server gets the call. */
  readonly executed: boolean
  /** The shortest time, in milliseconds. */
  readonly after?: number
  /** The timeout of the client, in milliseconds. */
  readonly timeout?: number
  /** The reason for which a fault could not act. */
  readonly unable?: string
  /** False when no fault acted. */
  readonly injected?: false
}

const { structuredContent: DATA } = resultOf(1)
const result = (structuredContent: unknown): object => ({ result: { structuredContent } })
const failure = (message: RegExp, more: object = {}): object => ({
  error: { message: expect.stringMatching(message) as string, ...more },
})
const failed = (message: string): Promised => ({
  meets: failure(new RegExp(message), { code: -32000 }),
  executed: true,
})
const late = (after: number): Promised => ({ meets: result(DATA), executed: true, after })
/** A connection that ends before the headers, or within the body. */
const cut = (executed: boolean): Promised => ({
  meets: failure(/fetch failed|terminated/),
  executed,
})
const { items: _, ...REST } = DATA

const PROMISES: Readonly<Record<OwnersFault, Promised>> = {
  latency: late(40),
  'latency with jitter': late(30),
  error_injection: failed('injected error'),
  burst_error: failed('injected burst error'),
  drop_tool: failed("tool 'echo' unavailable"),
  registry_inconsistency: failed("tool 'echo' not found \\(registry inconsistency\\)"),
  server_degradation: failed("server hosting 'echo' degraded"),
  schema_drift: {
    meets: { result: expect.not.objectContaining({ structuredContent: DATA }) as object },
    executed: true,
  },
  partial_result: { meets: result({ ...REST, items: [1, 2, 3] }), executed: true },
  'monkey latency': late(40),
  error: { meets: failure(/down/), executed: false },
  timeout: { ...cut(false), after: 30 },
  malformed: { meets: failure(/JSON/), executed: false },
  'connection-refused': cut(false),
  'connection-drop': cut(true),
  'connection-drop after bytes': cut(true),
  'connection-drop after a time': cut(true),
  'rate-limit': { meets: failure(/Too Many Requests/), executed: false },
  'schema-mismatch': { meets: result(REST), executed: true },
}

/** Without ids of events, an SDK waits for its own timeout when a stream of events ends early. */
const OF_EVENTS: typeof PROMISES = {
  ...PROMISES,
  'connection-drop after bytes': {
    meets: failure(/timed out/),
    executed: true,
    timeout: 500,
  },
}

/** The stream of a session carries other responses too, so no fault may cut it. */
const OF_SESSIONS: typeof PROMISES = {
  ...PROMISES,
  // The response to the POST is not the result.
  malformed: { meets: failure(/timed out/), executed: false, timeout: 500 },
  'connection-drop': { ...late(0), unable: 'shared_stream', injected: false },
  'connection-drop after bytes': { ...late(0), unable: 'responded_elsewhere', injected: false },
  'connection-drop after a time': { ...late(5), unable: 'shared_stream' },
}

describe.each([
  ['json', PROMISES, ['v1', 'v2']],
  ['sse', OF_EVENTS, ['v2', 'v1']],
  ['push', OF_SESSIONS, ['v1', 'v2']],
] as const)('a server that responds with %s', (setting, promises, sdks) => {
  let server: Host
  beforeAll(async () => {
    server = await startUpstream('matrix', setting)
  })
  afterAll(() => server.close())

  it.each(someOf(sdks, 2))('fails for a client of SDK %s as promised', async (sdk) => {
    const stage = opened(await startSidecar({ upstream: server.origin, rules: [] }))
    const client = opened(
      setting === 'push'
        ? await openClient(sdk)(`${stage.url}/sse`, 'sse')
        : await openClient(sdk)(`${stage.url}/mcp`, 'streamableHttp'),
    )
    for (const { name, file, promise } of owned(promises)) {
      stage.faults?.take(imported(file).file.rules)
      const [ran, since] = [server.ran('echo'), performance.now()]
      const call = client.call('echo', { n: 1 }, { timeout: promise.timeout ?? 20_000 })
      expect(await outcome(call), name).toMatchObject(promise.meets)
      expect(performance.now() - since, name).toBeGreaterThanOrEqual((promise.after ?? 0) - 2)
      expect(server.ran('echo') - ran, name).toBe(promise.executed ? 1 : 0)
      const counts = () => {
        const reasons = stage.faults?.notApplicable.map(({ reason }) => reason)
        return [stage.faults?.counts().injected, reasons]
      }
      const { injected = true, unable } = promise
      const reasons = unable === undefined ? [] : [unable]
      await expect.poll(counts, { message: name }).toEqual([Number(injected), reasons])
      stage.faults?.notApplicable.splice(0)
    }
    expect(stage.faults?.broken).toEqual([])
  })
})
