import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { History, Tasks } from '../../../../src/admin/contract/api.ts'
import { parse } from 'yaml'
import { planFor } from '../../src/next/next-plan.ts'
import { isPlainName, whatNext } from '../../src/next/what-next.ts'
import { startUpstream } from '../../../../test/support/wire.ts'

let experiments: string
beforeAll(async () => {
  experiments = await mkdtemp(join(tmpdir(), 'squall-next-'))
})
afterAll(() => rm(experiments, { recursive: true, force: true }))

/** A minute of ten calls a second, of which one failed and two were ended by a fault. */
const POINTS = {
  calls: [null, 10],
  real: [null, 1],
  injected: [null, 2],
  squall: [null, 0],
  injected_elsewhere: [null, 0],
}
const LATENCIES = {
  p50: [null, 0.1],
  p95: [null, 0.2],
  upstreamP50: [null, 0.1],
  upstreamP95: [null, 0.2],
}
const OLDER: History = {
  stepSeconds: 5,
  at: [0, 60],
  series: ['search', 'b*'].map((tool) => ({
    tool,
    ...POINTS,
    ...LATENCIES,
  })),
}

async function ranked(recent: History, target: string, flows?: Tasks['flows']) {
  const baselines = join(experiments, 'baselines.json')
  const ranks = await whatNext({ target, experiments, recent, flows, baselines, learns: true })
  const { targets } = JSON.parse(await readFile(baselines, 'utf8')) as {
    readonly targets: Readonly<Record<string, { readonly tools: unknown }>>
  }
  return { ranks, learned: targets[target]!.tools }
}

it('ranks by the tools of a sidecar, and learns them', async () => {
  const search = { tool: 'search', calls: 40, errors: 2, p95: 0.1, bytes: 90, perTask: 1.5 }
  const tools = [search, { ...search, tool: 'b*' }, { ...search, tool: String.raw`b\u{202e}` }]
  const { ranks, learned } = await ranked({ ...OLDER, tools }, 'http://a/mcp')
  expect(new Set(ranks.map(({ tool }) => tool))).toEqual(new Set(['search']))
  expect(ranks[0]!.reasons).toEqual(['40 calls: weight 1.00', 'never tested: +1.00'])
  expect(learned).toEqual([search])
})

it('ranks by the points of an older sidecar, which do not tell p95, sizes and tasks', async () => {
  const { ranks, learned } = await ranked(OLDER, 'http://b/mcp')
  expect(ranks[0]!.reasons).toEqual(['480 calls: weight 1.00', 'never tested: +1.00'])
  expect(learned).toMatchObject([
    { tool: 'search', calls: 480, errors: 60, p95: null, bytes: null },
  ])
})

it('proposes a wrong result first for a tool whose results feed a destructive one', async () => {
  const quote = { tool: 'get_quote', calls: 40, errors: 2, p95: 0.1, bytes: 90, perTask: 1.5 }
  const tools = [{ ...quote, tool: 'search', calls: 44 }, quote]
  const flow = { from: 'get_quote', to: 'pay', hint: 'destructive', calls: 12 } as const
  const flows = [flow, { ...flow, from: 'search', to: 'open', hint: 'read_only' } as const]
  const { ranks } = await ranked({ ...OLDER, tools }, 'http://c/mcp', flows)
  expect(ranks[0]).toMatchObject({ tool: 'get_quote', question: { fault: 'falsify' } })
  const reason = 'pay, which is destructive, was called with its values 12 times: +0.25'
  expect(ranks[0]!.reasons).toContain(reason)
  expect(ranks.filter(({ question }) => question.fault === 'falsify')).toHaveLength(1)
  const plan = planFor(ranks[0]!, { url: 'http://c/mcp', environment: 'staging', sidecar: {} })
  expect(parse(plan)).toMatchObject({
    rules: [{ match: { tool: 'get_quote' }, faults: [{ falsify: {} }] }],
    slo: { 'falsified-used': 0 },
  })
})

it('leaves out names that a plan cannot name exactly, and calls of other methods', () => {
  const names = ['', 'a*', 'b\u202e', 'other', 'x'.repeat(500), 'fine']
  expect(names.filter(isPlainName)).toEqual(['fine'])
})

it.each([
  ['*', true],
  ['search', false],
])('says whether a Prometheus lacks latencies by tool, with those of %s', async (tool, lacks) => {
  const server = await startUpstream((request, response) => {
    const query = new URL(request.url!, 'http://x').searchParams.get('query')!
    const metric = { tool: query.includes('squall_calls_total') ? 'search' : tool }
    response.end(
      JSON.stringify({ data: { resultType: 'vector', result: [{ metric, value: [0, '40'] }] } }),
    )
  })
  try {
    const url = new URL(`http://127.0.0.1:${server.port}`)
    const prometheus = { url, headers: {}, labels: {}, over: '7d' }
    const baselines = join(experiments, 'baselines.json')
    const sources = { target: 'http://basic/mcp', experiments, recent: OLDER, flows: undefined }
    const ranks = await whatNext({ ...sources, baselines, prometheus, learns: false })
    const warned = ranks.filter(({ reasons }) => reasons.join().includes('--metrics-detail full'))
    expect(ranks.length).toBeGreaterThan(0)
    expect(warned.length > 0).toBe(lacks)
    expect(warned.map(({ question }) => question.symptom)).not.toContain('errors')
  } finally {
    await server.close()
  }
})
