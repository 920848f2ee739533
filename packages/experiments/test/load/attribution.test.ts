// part: slow
/*
 * Errors that a fault had injected without a mark counted as real, or as nobody's: rules with
 * `marker: false`, resets and hangs leave no room for one.
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { load } from './load-run.ts'
import { scriptedListener, startUpstream } from '../../../../test/support/wire.ts'
import { type RuledSquall, startSquall } from '../../../../test/support/commands.ts'

const RULES = `rules:
  - name: unmarked
    match: { tool: work }
    percent: 50
    marker: false
    faults: [abort: { toolError: no }]
  - name: cut
    match: { tool: rest }
    percent: 30
    faults: [reset]
`

let ruled: RuledSquall
let url: URL

beforeEach(async () => {
  // Every tenth call fails by itself.
  const listener = scriptedListener((call) => (call % 10 === 9 ? 'rpc error' : 'ok'), count())
  ruled = await startSquall({ rules: RULES, upstream: listener })
  url = new URL(`http://127.0.0.1:${ruled.squall.port}/mcp`)
})

afterEach(() => ruled.close())

function count(): () => number {
  let calls = 0
  return () => calls++
}

const asked = { work: { tools: ['work', 'rest'] }, pace: { clients: 8, tasks: 60 } }

test('errors without a marker are known as injected when the sidecar is queried', async () => {
  const before = await load({ url, ...asked })
  expect(before.errors.map(({ origin }) => origin)).not.toContain('injected')
  const result = await load({ url, ...asked, sidecars: [ruled.squall.admin] })
  const found = Object.fromEntries(result.errors.map(({ kind, origin }) => [kind, origin]))
  expect(found).toEqual({ tool: 'injected', reset: 'injected', rpc: 'real' })
  expect(result.run.missedFaults).toBe(0)
  const seen = result.faults.map(({ rule, fault }) => `${rule}/${fault}`).sort()
  expect(seen).toEqual(['cut/reset', 'unmarked/abort'])
  expect(result.indicators.safeFailures).toBeGreaterThan(0)
})

test('errors are known as injected where the sidecar shows hashes of ids', async () => {
  const flags = ['--log-ids', 'hash']
  const hashed = await startSquall({ rules: RULES, flags, upstream: scriptedListener(() => 'ok') })
  const target = new URL(`http://127.0.0.1:${hashed.squall.port}/mcp`)
  const result = await load({ url: target, ...asked, sidecars: [hashed.squall.admin] })
  await hashed.close()
  const found = Object.fromEntries(result.errors.map(({ kind, origin }) => [kind, origin]))
  expect(found).toEqual({ tool: 'injected', reset: 'injected' })
})

test('a sidecar that cannot be asked is said before any call is made', async () => {
  const asking = load({ url, ...asked, sidecars: ['http://127.0.0.1:9'] })
  await expect(asking).rejects.toThrow(
    /the sidecar cannot be reached at http:\/\/127.0.0.1:9.*check --sidecar/,
  )
})

test('a sidecar without rules is reported as one, before any call is made', async () => {
  const plain = await startSquall('--upstream', 'http://127.0.0.1:9')
  try {
    const asking = load({ url, ...asked, sidecars: [plain.admin] })
    await expect(asking).rejects.toThrow(
      /^there is no sidecar with rules at http:.*; start the sidecar with --rules, or remove --sidecar$/,
    )
  } finally {
    await plain.close()
  }
})

test('each of several sidecars is queried: a load does not know which one a call passes', async () => {
  const idle = await startSquall({ rules: 'rules: []\n', upstream: scriptedListener(() => 'ok') })
  try {
    for (const sidecars of [
      [idle.squall.admin, ruled.squall.admin],
      [ruled.squall.admin, idle.squall.admin],
    ]) {
      const { errors } = await load({ url, ...asked, sidecars })
      const found = Object.fromEntries(errors.map(({ kind, origin }) => [kind, origin]))
      expect(found).toEqual({ tool: 'injected', reset: 'injected', rpc: 'real' })
    }
    const sidecars = [ruled.squall.admin, 'http://127.0.0.1:9']
    await expect(load({ url, ...asked, sidecars })).rejects.toThrow(/127.0.0.1:9.*check --sidecar/)
  } finally {
    await idle.close()
  }
})

const SLOW_RULES = `rules:
  - name: slow
    match: { tool: work }
    # Longer than the pause between two polls of the load.
    faults: [delay: { fixed: 250ms }]
  - name: unmarked
    match: { tool: work }
    percent: 50
    marker: false
    faults: [abort: { toolError: no }]
`

/*
 * The marker of a delay made an error of the server injected in the result of a load, and real in
 * the metrics of the sidecar.
 */
test('an error behind a delay has the origin that the sidecar counts', async () => {
  const listener = scriptedListener((call) => (call % 10 === 9 ? 'rpc error' : 'ok'), count())
  const slowed = await startSquall({ rules: SLOW_RULES, upstream: listener })
  try {
    const { port, admin } = slowed.squall
    const { errors, tools } = await load({
      url: new URL(`http://127.0.0.1:${port}/mcp`),
      work: { tools: ['work'] },
      pace: { clients: 8, tasks: 60 },
      sidecars: [admin],
    })
    const metrics = await (await fetch(new URL('/metrics', admin))).text()
    const counted = (outcome: string, origin: string): number =>
      Number(
        new RegExp(
          `calls_total{outcome="${outcome}",origin="${origin}",.*tool="work"} (\\d+)`,
        ).exec(metrics)?.[1],
      )
    const found = Object.fromEntries(
      errors.map(({ kind, origin, count: times }) => [`${kind} ${origin}`, times]),
    )
    expect(found).toEqual({
      'tool injected': counted('tool_error', 'injected'),
      'rpc real': counted('rpc_error', 'real'),
    })
    const causes = tools[0]!.errors.flatMap(({ samples = [] }) => samples.map(({ by }) => by))
    expect(new Set(causes)).toEqual(new Set([undefined, 'unmarked/abort']))
  } finally {
    await slowed.close()
  }
})

test('calls that are cut do not wait for a sidecar that hangs', async () => {
  let polls = 0
  const admin = await startUpstream((request, response) => {
    if (request.url !== '/api/injections') response.writeHead(404).end()
    else if (polls++ === 0) response.end('{"total":0,"faults":[]}')
  })
  const server = await startUpstream('scripted', () => 'rpc error')
  const began = performance.now()
  const result = await load({
    url: server.url,
    work: { tools: ['work'] },
    pace: { clients: 1, durationMs: 300, gracefulStopMs: 500 },
    sidecars: [`http://127.0.0.1:${admin.port}`],
  })
  // A sidecar may take ten seconds to respond.
  expect(performance.now() - began).toBeLessThan(8_000)
  expect(result.arrivals).toMatchObject({ started: 1, abandoned: 1 })
  await server.close()
  await admin.close()
})
