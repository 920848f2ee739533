// part: slow
// Files of mcp-chaos and mcp-chaos-monkey as rules of `squall stdio`, seen by clients of the SDKs.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { imported } from '../../rules/import/imported.ts'
import { type OwnersFault, owned } from '../../rules/import/owners-faults.ts'
import { closers } from '../../support/closers.ts'
import { eventually } from '../../support/eventually.ts'
import { metricOf, outcome } from '../../support/wire.ts'
import {
  FIXTURE_COMMAND,
  rulesFile,
  type StdioClient,
  stdioClient,
  throughSquall,
} from '../../support/commands.ts'

const opened = closers()

const REST = { value: 7, unit: 'C' }
const DATA = { ...REST, items: [1, 2, 3, 4] }

/** The faults of one call, by the log: `injected delay`, or a reason and the fault. */
type Effects = readonly string[]

interface Promised {
  /** The data of the result, or `unchanged`, or the code and message of the error. */
  readonly meets: unknown
  readonly effects: Effects
  /** The shortest time, in milliseconds. */
  readonly after?: number
}

const failed = (message: string): Promised => ({
  meets: expect.stringContaining(message),
  effects: ['injected abort'],
})
const passes = (effects: Effects, after = 0): Promised => ({ meets: 'unchanged', effects, after })

const PROMISES: Readonly<Record<OwnersFault, Promised>> = {
  latency: passes(['injected delay'], 40),
  'latency with jitter': passes(['injected delay'], 30),
  error_injection: failed('injected error'),
  burst_error: failed('injected burst error'),
  drop_tool: failed("tool 'echo' unavailable"),
  registry_inconsistency: failed("tool 'echo' not found (registry inconsistency)"),
  server_degradation: failed("server hosting 'echo' degraded"),
  schema_drift: { meets: expect.any(Object), effects: ['injected rewrite'] },
  partial_result: { meets: { ...REST, items: [1, 2] }, effects: ['injected truncate'] },
  'monkey latency': passes(['injected delay'], 40),
  error: passes(['no_http abort']),
  timeout: passes(['injected hang', 'no_http reset'], 30),
  malformed: passes(['no_http abort']),
  'connection-refused': passes(['no_http reset']),
  'connection-drop': passes(['no_http reset']),
  'connection-drop after bytes': passes(['no_http reset']),
  'connection-drop after a time': passes(['injected delay', 'no_http reset'], 5),
  'rate-limit': passes(['no_http abort']),
  'schema-mismatch': { meets: REST, effects: ['injected rewrite'] },
}

/** A line of the log about a fault. */
interface FaultLine {
  readonly rule: string
  readonly fault: string
  readonly tool: string
  readonly reason?: string
  readonly msg: string
}

/** A client, and the reports of the `squall stdio` that it started. */
interface Stage extends StdioClient {
  lines(message: string): readonly FaultLine[]
  effects(): readonly FaultLine[]
  /** Returns the sum of `squall_rule_evaluations_total` with a result. */
  results(result?: string, rule?: string): Promise<number>
}

async function started(sdk: 'v1' | 'v2', file: string, tools: readonly string[]): Promise<Stage> {
  const flags = ['--rules', file, '--admin', '127.0.0.1:0', '--log-level', 'debug']
  const command = throughSquall(flags, [...FIXTURE_COMMAND, ...tools])
  const client = opened(await stdioClient(sdk, command))
  const logged = (): readonly (FaultLine & { readonly address?: string })[] =>
    client
      .stderr()
      .split('\n')
      .flatMap((line) => (/^\{.*\}$/.test(line) ? (JSON.parse(line) as FaultLine) : []))
  const lines = (message: string) => logged().filter(({ msg }) => msg === message)
  return {
    ...client,
    lines,
    effects: () =>
      logged().filter(({ msg }) => ['fault injected', 'a fault could not act'].includes(msg)),
    results: async (result, rule) => {
      const { address } = lines('admin listening')[0]!
      const text = await (await fetch(`http://${address}/metrics`)).text()
      const labels = { ...(result && { result }), ...(rule && { rule }) }
      return metricOf(text, 'squall_rule_evaluations_total', labels)
    },
  }
}

const shown = ({ fault, reason }: FaultLine): string => `${reason ?? 'injected'} ${fault}`
const executed = (client: StdioClient): number =>
  client
    .stderr()
    .split('\n')
    .filter((line) => line.startsWith('executed ')).length

/** Calls a tool; returns the data of its result, or a text for the error and for the data sent. */
async function met(client: StdioClient, tool = 'echo'): Promise<unknown> {
  const seen = await outcome(client.call(tool, { text: JSON.stringify(DATA) }))
  const { error, result } = seen as {
    readonly error?: { readonly code: number; readonly message: string }
    readonly result?: { readonly content: readonly [{ readonly text: string }] }
  }
  if (error !== undefined) return `${error.code} ${error.message}`
  const data: unknown = JSON.parse(result?.content[0].text ?? '')
  return isDeepStrictEqual(data, DATA) ? 'unchanged' : data
}

describe.each([
  ['v1', 'the file of its owner', (text: string) => text],
  ['v2', 'the converted file', (text: string) => imported(text).text],
] as const)('a client of SDK %s meets, by %s,', (sdk, _, written) => {
  it('each fault that has no need of HTTP, and all other calls pass', async () => {
    const file = rulesFile(written('seed: 1\nfaults: []\n'))
    const client = await started(sdk, file, [])
    let [injected, total] = [0, 0]
    for (const { name, file: text, promise } of owned(PROMISES)) {
      const reloads = client.lines('active rules').length
      writeFileSync(file, written(text))
      await eventually(() =>
        client.lines('active rules').length > reloads ? undefined : `${name} is not active`,
      )
      const [before, ran, since] = [client.effects().length, executed(client), performance.now()]
      expect(await met(client), name).toEqual(promise.meets)
      expect(performance.now() - since, name).toBeGreaterThanOrEqual((promise.after ?? 0) - 2)
      const effects = (): Effects => client.effects().slice(before).map(shown)
      await expect.poll(effects, { message: name }).toEqual(promise.effects)
      await expect.poll(() => executed(client) - ran, { message: name }).toBe(1)
      total++
      if (effects().some((effect) => effect.startsWith('injected'))) injected++
      const counts = () =>
        Promise.all([
          client.results('injected'),
          client.results('not_applicable'),
          client.results(),
        ])
      await expect.poll(counts, { message: name }).toEqual([injected, total - injected, total])
    }
  })
})

const example = (name: string): string =>
  fileURLToPath(new URL(`../../../examples/import/${name}`, import.meta.url))

it('every fault of a scenario acts, or passes the call where it needs HTTP', async () => {
  const file = example('chaos-monkey.json')
  const { faults } = JSON.parse(readFileSync(file, 'utf8')) as { faults: { target: string }[] }
  const tools = [...new Set(faults.map(({ target }) => target))]
  const client = await started('v1', file, tools)
  const since = performance.now()
  const late: string[] = []
  const calls = tools.flatMap((tool) => Array.from({ length: 8 }, () => tool))
  const seen = await Promise.all(
    calls.map(async (tool) => {
      const data = await met(client, tool)
      if (performance.now() - since >= 1498) late.push(tool)
      return [tool, data] as const
    }),
  )
  const items = DATA.items
  expect(seen).toEqual(
    calls.map((tool) => [tool, tool === 'get_metrics' ? { items } : 'unchanged']),
  )
  // One for each call, and two for those of query_db.
  await expect.poll(() => client.effects().length).toBe(calls.length + 8)
  const count = (tool: string, effect: string): number =>
    client.effects().filter((line) => line.tool === tool && shown(line) === effect).length
  const delayed = count('search_docs', 'injected delay')
  expect(delayed).toBeGreaterThan(0)
  expect(late.filter((tool) => tool === 'search_docs').length).toBeGreaterThanOrEqual(delayed)
  expect(late.filter((tool) => tool === 'query_db')).toHaveLength(8)
  const effects = tools.map((tool) => [
    tool,
    ...new Set(
      client
        .effects()
        .flatMap((line) => (line.tool === tool ? shown(line) : []))
        .toSorted(),
    ),
  ])
  expect(effects).toEqual([
    ['search_docs', 'injected delay', 'no_http abort'],
    ['query_db', 'injected hang', 'no_http reset'],
    ['get_weather', 'no_http abort'],
    ['get_forecast', 'no_http reset'],
    ['list_orders', 'no_http reset'],
    ['send_mail', 'no_http abort'],
    ['get_metrics', 'injected rewrite'],
  ])
  await expect.poll(() => client.results('injected')).toBe(delayed + 2 * 8)
  await expect.poll(() => client.results('not_applicable')).toBe(8 - delayed + 4 * 8)
})

/** The rules of the plan, and how a client recognizes the fault of each. */
const PLAN: readonly (readonly [string, (tool: string, data: unknown) => boolean])[] = [
  ['error-injection', (_, data) => hasText(data, 'injected error')],
  ['burst-error', (_, data) => hasText(data, 'injected burst error')],
  ['drop-tool-get_weather', (_, data) => hasText(data, "'get_weather' unavailable")],
  ['registry-get_forecast', (_, data) => hasText(data, "'get_forecast' not found (registry")],
  ['schema-drift', (tool, data) => tool === 'get_metrics' && typeof data === 'object'],
  ['partial-result', (tool, data) => tool === 'list_orders' && typeof data === 'object'],
  ['server-degradation', (_, data) => hasText(data, 'server hosting the tool degraded')],
]
const hasText = (data: unknown, text: string): boolean =>
  typeof data === 'string' && data.includes(text)

it('a client meets as many faults of a plan as Squall counts', async () => {
  const tools = ['search_docs', 'query_db', 'get_weather', 'get_forecast', 'get_metrics']
  tools.push('list_orders', 'get_logs', 'get_traces')
  const client = await started('v2', example('mcp-chaos.yaml'), tools)
  const seen: (readonly [string, unknown])[] = []
  // The converted file limits the faults that act at the same time to 100.
  for (let round = 0; round < 8; round++) {
    const calls = tools.flatMap((tool) => Array.from({ length: 4 }, () => tool))
    const data = await Promise.all(calls.map((tool) => met(client, tool)))
    seen.push(...data.map((each, index) => [calls[index]!, each] as const))
  }
  let recognized = 0
  for (const [rule, isMet] of PLAN) {
    const times = seen.filter(([tool, data]) => isMet(tool, data)).length
    recognized += times
    expect(times, rule).toBeGreaterThan(0)
    const lines = () => client.effects().filter((line) => line.rule === rule && !line.reason)
    await expect.poll(() => lines().length, { message: rule }).toBe(times)
    await expect.poll(() => client.results('injected', rule), { message: rule }).toBe(times)
  }
  expect(seen.filter(([, data]) => data !== 'unchanged')).toHaveLength(recognized)
  expect(await client.results('injected', 'latency')).toBeGreaterThan(0)
})
