import { afterEach, expect, test } from 'vitest'
import { ErrorCounts } from '../../src/load/results/error-counts.ts'
import type { ErrorCount, LoadResult } from '../../src/load/results/result.ts'
import { mergeResults } from '../../src/load/results/merge-results.ts'
import { loadTable } from '../../src/report/load-table.ts'
import { reportMarkdown } from '../../src/report/markdown.ts'
import { writeReport } from '../../src/report/write-report.ts'
import { scriptedListener, startUpstream } from '../../../../test/support/wire.ts'
import { type RuledSquall, startSquall } from '../../../../test/support/commands.ts'
import { load } from './load-run.ts'

const RULES = `rules:
  - name: away
    match: { tool: work }
    percent: 50
    faults: [abort: { toolError: 'db-7 rejects password=hunter2-hunter2' }]
`

let ruled: RuledSquall | undefined

afterEach(() => ruled?.close())

/** A load on a server that fails by itself wherever no fault acts. */
async function failing(): Promise<LoadResult> {
  const listener = scriptedListener(() => 'rpc error')
  ruled = await startSquall({ rules: RULES, upstream: listener })
  const url = new URL(`http://127.0.0.1:${ruled.squall.port}/mcp`)
  return load({ url, work: { tools: ['work'] }, pace: { clients: 2, tasks: 60 } })
}

function errorOf({ tools }: LoadResult, origin: ErrorCount['origin']): ErrorCount {
  return tools[0]!.errors.find((each) => each.origin === origin)!
}

test('errors of each tool keep their messages, without secrets, in result, terminal and reports', async () => {
  const result = await failing()
  expect(errorOf(result, 'injected')).toMatchObject({
    origin: 'injected',
    samples: [{ at: expect.stringMatching(/^\d{4}-.*Z$/), by: 'away/abort' }],
  })
  const real = errorOf(result, 'real')
  const { message } = real.samples![0]!
  expect(real).toMatchObject({ origin: 'real', kind: 'rpc', code: expect.any(Number) })
  expect(message).toBe('it broke')
  const table = loadTable(result, false)
  expect(table).toMatch(
    new RegExp(
      `^work +JSON-RPC error ${real.code} +real +${real.count}  .*\\n  ${message}, trace `,
      'm',
    ),
  )
  expect(table).toMatch(/^work +tool error +injected +\d+ .*\n {2}db-7 rejects password=/m)
  for (const line of table.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  const runs = [{ title: 'one', result }]
  for (const text of [table, reportMarkdown(runs), writeReport(runs), JSON.stringify(result)]) {
    expect(text).toContain(message)
    expect(text).toContain('db-7 rejects')
    expect(text).not.toContain('hunter2')
  }
})

test('merged results keep the newest messages', async () => {
  const result = await failing()
  const [sample] = errorOf(result, 'real').samples!
  const older = { at: '2020-01-01T00:00:00.000Z', message: 'older' }
  const earlier = JSON.parse(
    JSON.stringify(result).replaceAll(JSON.stringify(sample), JSON.stringify(older)),
  ) as LoadResult
  const merged = errorOf(mergeResults([earlier, result]), 'real')
  expect(merged.samples).toEqual([sample, older])
  expect(merged.count).toBe(2 * errorOf(result, 'real').count)
})

test('messages are bounded in number and length, and looked at once a second', () => {
  const counts = new ErrorCounts()
  for (let i = 0; i < 1_000; i++) {
    const message = `${i} ${'x'.repeat(10_000)}\u001b[2J`
    counts.addOf({ kind: 'tool', markers: [], message }, 'tool', 'real')
  }
  const [{ samples = [], count }] = counts.list() as [ErrorCount]
  expect(count).toBe(1_000)
  expect(samples.map(({ message }) => message.split(' ')[0])).toEqual(['19', '18', '17'])
  for (const { message } of samples) expect(message.length).toBeLessThanOrEqual(201)
})

test.each(['lean', 'sdk-v1', 'sdk-v2'] as const)(
  'headers and the query of the target that a server repeats are hidden, client %s',
  async (client) => {
    const rules = `rules:
  - name: repeats
    match: { tool: work }
    faults: [abort: { toolError: 'no row for k1-blue-7 or abc-def in /mcp?key=green-1' }]
`
    ruled = await startSquall({ rules, upstream: scriptedListener(() => 'ok') })
    const result = await load({
      url: new URL(`http://127.0.0.1:${ruled.squall.port}/mcp?key=green-1`),
      client,
      headers: { 'x-key': 'k1-blue-7', authorization: 'Custom abc-def' },
      work: { tools: ['work'] },
      pace: { clients: 1, tasks: 3 },
    })
    const { message } = errorOf(result, 'injected').samples![0]!
    expect(message).toBe('no row for [redacted] or [redacted] in /mcp?key=[redacted]')
  },
)

test.each(['lean', 'sdk-v1', 'sdk-v2'] as const)(
  'a long token that a server repeats at the handshake is hidden, client %s',
  async (client) => {
    const token = `eyJ${'x'.repeat(300)}`
    const lean = scriptedListener(() => 'ok')
    // The SDKs connect after a first handshake by the lean client.
    const server = await startUpstream((req, res) => {
      const isSdk = req.headers['user-agent'] === 'node'
      if (client !== 'lean' && !isSdk) return lean(req, res)
      req.resume()
      res.writeHead(400).end(`rejected header ${req.headers.authorization}`)
    })
    try {
      const headers = { authorization: `Bearer ${token}` }
      const failed = load({
        url: new URL('/mcp', server.url),
        client,
        headers,
        work: { tools: ['work'] },
        pace: { clients: 1, tasks: 1 },
      })
      const error: unknown = await failed.then(
        () => undefined,
        (reason: unknown) => reason,
      )
      expect((error as Error).message).toContain('rejected header [redacted]')
      expect((error as Error).message).not.toContain('eyJ')
    } finally {
      await server.close()
    }
  },
)
