import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { importFaults } from '../../../src/rules/import/import.ts'
import { smallPercents } from '../../../src/rules/file/problem.ts'
import { accepted } from '../rules-text.ts'
import { imported, notImported } from './imported.ts'

const EXAMPLES = new URL('../../../examples/import/', import.meta.url)

describe.each(readdirSync(EXAMPLES))('examples/import/%s', (name) => {
  it('becomes valid rules of its own format, and no field is unknown', () => {
    const result = importFaults(readFileSync(new URL(name, EXAMPLES)))
    expect(result).toMatchObject({ ok: true, format: name.replace(/\..*/, '') })
    if (!result.ok) return
    expect(accepted(result.text).rules).toHaveLength(result.rules)
    expect(result.rules).toBeGreaterThan(0)
    expect(result.notes.filter(({ kind }) => kind === 'unknown')).toEqual([])
  })
})

it('keeps order, seed and shares of a plan', () => {
  const { file } = imported(`seed: 42
faults:
  - { type: error_injection }
  - { type: latency, probability: 0.3 }
  - { type: burst_error, rate: 0.05, burst_len: 4 }`)
  expect(file.seed).toBe(42)
  expect(file.rules).toMatchObject([
    { name: 'error-injection', probability: 0.02 },
    { name: 'latency', probability: 0.3, faults: [{ config: { fixed: 250, at: 'response' } }] },
    { name: 'burst-error', burst: { rate: 0.05, length: 4 } },
  ])
})

it('writes shares below 1 % with a sign, so that the rules need no warning', () => {
  const fault = '{ numerator: 5, denominator: TEN_THOUSAND }'
  const type = 'type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault'
  const result = importFaults(`"@type": ${type}\nabort: { http_status: 503, percentage: ${fault} }`)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  expect(smallPercents('a.yaml', result.text)).toEqual([])
  expect(accepted(result.text).rules).toMatchObject([{ percent: 0.05 }])
})

it('makes no larger share of episodes than the source', () => {
  const episodes = 'type: server_degradation, tools: [a], episode_rate: 0.41, episode_len: 1'
  const { file } = imported(`seed: 1\nfaults: [{ ${episodes} }]`)
  expect(file.rules).toMatchObject([{ episode: { tasks: 1, of: 3 } }])
})

it('reports that there are more fields than it names', () => {
  const keys = Array.from({ length: 600 }, (_, i) => `k${i}: 1`).join(', ')
  const result = importFaults(`seed: 1\nfaults: [{ type: latency, ${keys} }]`)
  expect(result).toMatchObject({ ok: true })
  const messages = result.ok ? result.notes.map(({ message }) => message) : []
  expect(messages).toHaveLength(501)
  expect(messages).toContain('has more such fields; convert a part of the file to see them')
})

it('makes an episode of a degraded server, in which its tools fail together', () => {
  const { file, notes } = imported(`faults:
  - type: server_degradation
    tools: [get_logs, 'get_*']
    episode_rate: 0.25
    episode_len: 5`)
  expect(file.rules).toMatchObject([
    {
      match: { tool: ['get_logs', { regex: '^get_\\*$' }] },
      stickyBy: 'trace',
      episode: { tasks: 5, of: 20 },
    },
  ])
  expect(notes).toEqual(['4:5 changed faults[0].episode_rate'])
})

it('lets one fault of a target act, and all faults of others', () => {
  const config = 'config: { type: latency, delay_ms: 5, probability: 0.5 }'
  const { file } = imported(`faults:
  - { target: a, ${config}, duration_ms: 1500 }
  - { target: b, ${config} }
  - { target: a, ${config} }`)
  expect(file.rules).toMatchObject([
    { match: { tool: 'a' }, for: 1500, probability: 0.5 },
    { match: { tool: 'b' } },
    { match: { tool: 'a' } },
  ])
  expect(file.rules.map(({ then: end }) => end)).toEqual(['stop', undefined, undefined])
})

it('reports an unknown field with its line, and writes the rule disabled', () => {
  const { file, notes, text } = imported(`faults:
  - type: error_injection
    rate: 0.5
    tool: [search_docs]
  - type: latency`)
  expect(notes).toEqual(['4:5 unknown faults[0].tool'])
  expect(file.rules).toMatchObject([{ enabled: false }, { enabled: true }])
  expect(text).toContain('# Disabled: unknown field "tool".')
})

it('adds no rule for a fault that does nothing', () => {
  const { file, notes } = imported(`faults:
  - { type: drop_tool }
  - { type: server_degradation }`)
  expect(file.rules).toEqual([])
  expect(notes).toEqual(['2:5 left_out faults[0]', '3:5 left_out faults[1]'])
})

it('keeps texts of the source within their comment', () => {
  const description = JSON.stringify('one\ntwo\u2028three\nfaults: []')
  const { text, file } = imported(
    `{"description": ${description}, "faults": [{"target": "a", "config": {"type": "connection-refused"}}]}`,
  )
  expect(file.rules).toHaveLength(1)
  expect(text.split('version:')[0]).toMatch(/^(?:#.*\n)+\n*$/)
})

const BOMB = `a: &a [x, x, x, x, x, x, x, x, x, x]\n${'bcdefghi'
  .split('')
  .map((name, i) => `${name}: &${name} [${`*${'abcdefgh'[i]}, `.repeat(9)}x]`)
  .join('\n')}\nfaults: [{ type: latency }]`

it.each([
  ['an alias bomb', BOMB, 'too_many', 6],
  ['nesting', `seed: 1\nfaults: [${'['.repeat(60)}${']'.repeat(60)}]`, 'too_deep', 2],
  ['a wrong type', 'seed: 1\nfaults:\n  - { type: latency, added_ms: soon }', 'wrong_type', 3],
  ['a number without end', 'faults:\n  - type: latency\n    added_ms: .inf', 'wrong_type', 3],
  ['a missing value', 'faults:\n  - target: a\n    config: { type: error }', 'missing_key', 3],
  ['an unknown type', 'faults:\n  - type: latency\n  - type: latencies', 'unknown_fault', 3],
  ['a delay beyond a month', 'faults:\n  - type: latency\n    added_ms: 1e10', 'invalid_value', 2],
  ['a key twice', 'faults:\n  - type: latency\n    type: latency', 'duplicate_key', 3],
  [
    'a key in both notations',
    'faults:\n  - target: a\n    config: { type: timeout, hangMs: 1, hang_ms: 1 }',
    'duplicate_key',
    3,
  ],
  ['a second document', 'faults:\n  - type: latency\n---\nseed: 1', 'several_documents', 4],
])('rejects %s with its line', (_name, text, code, line) => {
  expect(notImported(text)[0]).toMatchObject({ code, line })
})

it('rejects a file beyond 1 MiB, and more rules than a file may have', () => {
  expect(notImported(`faults: [] # ${' '.repeat(1024 * 1024)}`)[0]).toMatchObject({
    code: 'too_large',
  })
  const fault = `{ type: drop_tool, tools: [${Array.from({ length: 3000 }, (_, i) => `t${i}`).join()}] }`
  const text = `faults:\n  - ${fault}\n  - ${fault.replace('drop_tool', 'registry_inconsistency')}`
  expect(notImported(text)[0]).toMatchObject({ code: 'too_large', line: 3 })
})

it('names what it cannot recognize', () => {
  expect(notImported('rules: []')[0]!.message).toContain('already a rules file')
  expect(notImported('faults: [{ delay: 1 }]')[0]!.message).toContain('unknown format')
})

it('writes no control characters, which a terminal would obey, and keeps the values', () => {
  const tools = ['\u009b2J', 'a\u202eb', '\u2028', 'x\ty', '\u{e0041}']
  const result = importFaults(JSON.stringify({ faults: [{ type: 'drop_tool', tools }] }))
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  expect(result.text.replaceAll('\n', '')).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
  expect(accepted(result.text).rules.map(({ match }) => match?.tool)).toEqual(tools)
})
