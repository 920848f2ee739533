import { afterEach, expect, it } from 'vitest'
import { call } from '../support/wire.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

// A `regex` matches no text above 32,768 characters: a rule that never acted looked like one whose
// calls never came. Now its counters say why.
const RULES = `rules:
  - name: by-text
    match: { tool: probe, args: { /text: { regex: 'bad' } } }
    faults: [abort: { status: 503 }]
  - name: by-tool
    match: { tool: { regex: '^x+$' } }
    faults: [abort: { status: 503 }]
  - name: without
    match: { tool: probe, args: { /text: { not: { regex: 'bad' } } } }
    faults: [abort: { status: 504 }]
  - name: by-glob
    match: { tool: 'y*y*' }
    faults: [abort: { status: 501 }]
`
const LIMIT = 32_768

const running: RuledSquall[] = []

afterEach(async () => {
  for (const each of running.splice(0)) await each.close()
})

async function start() {
  const ruled = await startSquall({ rules: RULES })
  running.push(ruled)
  const { squall } = ruled
  let id = 0
  return {
    status: async (name: string, text: string): Promise<number> => {
      const params = { name, arguments: { text } }
      const message = { jsonrpc: '2.0', id: ++id, method: 'tools/call', params }
      return (await call({ port: squall.port, host: '127.0.0.1' }, message)).status
    },
    tooLong: (rule: string) => squall.metric('squall_rule_values_too_long_total', { rule }),
    results: (rule: string, result: string) =>
      squall.metric('squall_rule_evaluations_total', { rule, result }),
    counts: async (rule: string): Promise<Record<string, number>> => {
      const page = await (await fetch(`${squall.admin}/api/rules`)).json()
      const { rules } = page as { rules: { name: string; counts: Record<string, number> }[] }
      return rules.find(({ name }) => name === rule)!.counts
    },
  }
}

it('an argument that is too long for a regex is counted for each rule that could not read it', async () => {
  const { status, tooLong, results, counts } = await start()
  expect(await status('probe', 'bad'.padEnd(LIMIT))).toBe(503)
  expect(await tooLong('by-text')).toBe(0)
  for (let i = 0; i < 3; i++) expect(await status('probe', 'bad'.padEnd(LIMIT + 1))).toBe(504)
  expect(await status('other', 'bad'.padEnd(LIMIT + 1))).toBe(200)
  expect(await tooLong('by-text')).toBe(3)
  expect(await counts('by-text')).toMatchObject({ matched: 1, injected: 1, value_too_long: 3 })
  // A rule that matches for that reason is counted, too; it is no result besides its result.
  expect(await counts('without')).toMatchObject({ matched: 3, injected: 3, value_too_long: 3 })
  expect(await results('without', 'value_too_long')).toBe(0)
  expect(await tooLong('by-tool')).toBe(0)
})

it('a name that is too long for a regex is counted', async () => {
  const { status, tooLong, counts } = await start()
  expect(await status('x'.repeat(LIMIT), '')).toBe(503)
  expect(await tooLong('by-tool')).toBe(0)
  expect(await status('x'.repeat(LIMIT + 1), '')).toBe(200)
  expect(await tooLong('by-tool')).toBe(1)
  expect(await counts('by-tool')).toMatchObject({ matched: 1, value_too_long: 1 })
  expect(await tooLong('by-text')).toBe(0)
})

it('a name that is too long for a glob is counted where the glob might match', async () => {
  const { status, tooLong } = await start()
  expect(await status('y'.repeat(LIMIT), '')).toBe(501)
  expect(await status('x'.repeat(LIMIT + 1), '')).toBe(200)
  expect(await tooLong('by-glob')).toBe(0)
  expect(await status('y'.repeat(LIMIT + 1), '')).toBe(200)
  expect(await tooLong('by-glob')).toBe(1)
})
