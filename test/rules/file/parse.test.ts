import { describe, expect, it } from 'vitest'
import { compileRules } from '../../../src/rules/match/compile.ts'
import { parseRules } from '../../../src/rules/file/parse.ts'
import { accepted, rule, faultText } from '../rules-text.ts'

const EXAMPLE = `
version: 1
seed: 42                      # a comment
enabled: true
maxActive: 7
rules:
  - name: slow-search
    match: { tool: "search_*", headers: { x-chaos: "on" } }
    percent: 30
    faults:
      - delay: { fixed: 2s, jitter: 500ms }
  - name: flaky-db
    match: { tool: [query_db, list_tables] }
    first: 2
    faults:
      - abort: { toolError: "connection to db-7 lost" }
`

describe('a rules file', () => {
  it('is read with durations in milliseconds and defaults filled in', () => {
    expect(accepted(EXAMPLE)).toEqual({
      version: 1,
      seed: 42,
      enabled: true,
      maxActive: 7,
      rules: [
        {
          name: 'slow-search',
          match: { tool: 'search_*', headers: { 'x-chaos': 'on' } },
          percent: 30,
          stickyBy: 'ordinal',
          shareSamples: false,
          enabled: true,
          dryRun: false,
          marker: true,
          faults: [
            {
              fault: 'delay',
              config: { fixed: 2000, jitter: 500, max: 3_600_000, at: 'request' },
            },
          ],
        },
        {
          name: 'flaky-db',
          match: { tool: ['query_db', 'list_tables'] },
          first: 2,
          stickyBy: 'ordinal',
          shareSamples: false,
          enabled: true,
          dryRun: false,
          marker: true,
          faults: [
            { fault: 'abort', config: { toolError: 'connection to db-7 lost', at: 'request' } },
          ],
        },
      ],
    })
  })

  it('is what rules are compiled from', () => {
    const compiled = compileRules(accepted(EXAMPLE))
    expect(compiled.rules.map(({ name }) => name)).toEqual(['slow-search', 'flaky-db'])
    expect(compiled.rules[0]!.selection.share).toBe(0.3)
  })

  it('means the same as JSON', () => {
    const yaml = accepted('rules: [{ name: a, faults: [{ abort: { status: 503 } }] }]')
    const json = accepted(
      '{\n\t"rules": [\n\t\t{"name":"a","faults":[{"abort":{"status":503}}]}\n\t]\n}',
    )
    expect(json).toEqual(yaml)
  })

  it('cannot be changed once read', () => {
    const file = accepted(EXAMPLE)
    const config = file.rules[0]!.faults[0]!.config
    for (const each of [file, file.rules, file.rules[0], file.rules[0]!.match, config]) {
      expect(Object.isFrozen(each)).toBe(true)
    }
  })

  it('has a digest of its bytes, also when it is rejected', () => {
    const digest = parseRules(EXAMPLE).digest
    expect(digest).toMatch(/^[0-9a-f]{64}$/)
    expect(parseRules(Buffer.from(EXAMPLE)).digest).toBe(digest)
    expect(parseRules(`${EXAMPLE} `).digest).not.toBe(digest)
    expect(parseRules('x: 1')).toMatchObject({
      ok: false,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  })

  it.each([
    ['', 'nothing'],
    ['\uFEFF', 'a byte order mark'],
    ['# nothing but a comment\n', 'a comment'],
    ['null', 'null'],
    ['~\n', 'a tilde'],
    ['---\n', 'a document marker'],
    ['---\n...\n', 'an ended document'],
    ['{}', 'an empty object'],
    ['rules:\n', 'a key with nothing under it'],
    ['rules: []\n---\n', 'a second document with nothing in it'],
    ['rules:\n#  - name: a\n', 'rules that are commented out'],
    ['\uFEFFversion: 1\r\nrules: []\r\n', 'a byte order mark and CRLF'],
  ])('of %j has no rules: %s', (text) => {
    expect(accepted(text)).toEqual({
      version: 1,
      enabled: true,
      maxActive: 100,
      rules: [],
    })
    expect(accepted(Buffer.from(text)).rules).toEqual([])
  })

  it('may use anchors and aliases', () => {
    const { rules } = accepted(
      'rules:\n  - { name: a, faults: &f [{ abort: { status: 500 } }] }\n  - { name: b, faults: *f }\n',
    )
    expect(rules[1]!.faults).toEqual(rules[0]!.faults)
  })

  it('may have thousands of rules', () => {
    const lines = Array.from(
      { length: 2000 },
      (_, index) => `  - { name: r${index}, faults: [{ abort: { status: 500 } }] }`,
    )
    expect(accepted(`rules:\n${lines.join('\n')}`).rules.length).toBe(2000)
  })
})

describe('a selection', () => {
  it.each([
    ['percent: 0', { percent: 0 }],
    ['percent: 12.5', { percent: 12.5 }],
    ['percent: 12.5%', { percent: 12.5 }],
    ['percent: "100%"', { percent: 100 }],
    ['probability: 0.25', { probability: 0.25 }],
    ['{first: 2', undefined],
    ['first: 2', { first: 2 }],
    ['after: 0', { after: 0 }],
    ['every: 3', { every: 3 }],
    ['times: 1', { times: 1 }],
    ['burst: { rate: 5%, length: 10 }', { burst: { rate: 0.05, length: 10 } }],
    ['burst: { rate: 0.05, length: 10 }', { burst: { rate: 0.05, length: 10 } }],
    ['stickyBy: session', { stickyBy: 'session' }],
    ['stickyBy: { header: x-user }', { stickyBy: { header: 'x-user' } }],
    ['from: 2026-03-01T09:00:00Z', { from: Date.UTC(2026, 2, 1, 9) }],
    ['until: "2026-03-01T09:00:00+01:00"', { until: Date.UTC(2026, 2, 1, 8) }],
    ['for: 15m', { for: 900_000 }],
    ['ramp: { to: 50%, over: 10m }', { ramp: { to: 50, over: 600_000 } }],
    ['ramp: { to: 50, over: 1h }', { ramp: { to: 50, over: 3_600_000 } }],
    ['pods: 10%', { pods: 10 }],
    ['maxActive: 3', { maxActive: 3 }],
    ['then: stop', JSON.parse('{"then":"stop"}')],
    ['dryRun: true', { dryRun: true }],
  ])('of %s is read', (keys, expected) => {
    if (expected === undefined) expect(() => rule(keys)).toThrow('rejected')
    else expect(rule(keys)).toMatchObject(expected)
  })

  it('of stages is read as numbers', () => {
    const read = rule('stages: [10%, 25, "50%"]\n    each: 5m')
    expect(read).toMatchObject({ stages: [10, 25, 50], each: 300_000 })
  })

  it('combines counts, shares and times', () => {
    const keys = 'percent: 5\n    after: 1\n    every: 2\n    times: 9\n    for: 1h\n    pods: 50%'
    expect(rule(keys)).toMatchObject({ percent: 5, after: 1, every: 2, times: 9, pods: 50 })
  })
})

describe('a match', () => {
  it.each([
    '{ method: "*" }',
    '{ method: initialize }',
    '{ method: [tools/call, "prompts/*"] }',
    '{ method: tools/list, tool: search }',
    '{ tool: { regex: "^a.*b$" } }',
    '{ tool: { not: search } }',
    '{ tool: { not: [a, { regex: b }] } }',
    '{ tool: [a, { regex: b }, { not: c }] }',
    '{ prompt: greet }',
    '{ resource: "file:///reports/*" }',
    '{ headers: { x-a: "1", x-b: { exact: v } } }',
    '{ headers: { x-a: { prefix: a, suffix: b, contains: c, regex: d } } }',
    '{ headers: { x-a: { present: true }, x-b: { absent: true }, x-c: { not: v } } }',
    '{ args: { /city: Oslo, /limit: 3, /dry: true, /none: null } }',
    '{ args: { /limit: { gt: 1, lt: 9.5 }, "": { present: true } } }',
    '{ args: { /a~1b/0: { exact: { any: [json] } }, /c: { not: { prefix: x } } } }',
    '{ session: abc }',
    '{ session: { prefix: abc } }',
    '{ client: inspector }',
    '{ client: [a, "b*"] }',
    '{ client: { name: "cursor*", version: { regex: "^1" } } }',
    '{ transport: http+sse }',
    '{ transport: [streamable-http, http+sse] }',
    '{ protocolVersion: 2026-07-28 }',
    '{ protocolVersion: ">=2025-03-26 <2025-11-25" }',
    '{ protocolVersion: [2024-11-05, 2025-03-26] }',
    '{ http: { method: POST, path: "/api/*", status: 503 } }',
    '{ http: { status: 5xx }, headers: { x-a: b }, session: s }',
    '{ http: { status: [404, 5xx] } }',
    '{ any: [{ tool: a }, { prompt: b }] }',
    '{ all: [{ tool: a }, { headers: { x-a: b } }], not: { client: c } }',
  ])('of %s is read as it is written', (match) => {
    const read = rule(`match: ${match}`)
    expect(Object.keys(read.match!).length).toBeGreaterThan(0)
    expect(() => compileRules({ rules: [read] })).not.toThrow()
  })
})

describe('a fault', () => {
  it.each([
    ['{ delay: { fixed: 300ms } }', { fixed: 300 }],
    ['{ delay: { fixed: 1.5s, jitter: 0s, at: response } }', { fixed: 1500, at: 'response' }],
    ['{ delay: { uniform: { min: 1s, max: 2s } } }', { uniform: { min: 1000, max: 2000 } }],
    ['{ delay: { normal: { mean: 1s, stddev: 9ms } } }', { normal: { mean: 1000, stddev: 9 } }],
    ['{ delay: { exponential: { mean: 1m }, max: 2m } }', { max: 120_000 }],
    ['{ delay: { pareto: { scale: 1s, shape: 1.5 }, at: event } }', { at: 'event' }],
    ['{ abort: { status: 503 } }', { status: 503, at: 'request' }],
    ['{ abort: { status: 500, body: b, headers: { x-a: b } } }', { headers: { 'x-a': 'b' } }],
    ['{ abort: { rpcError: {} } }', { rpcError: { code: -32603, message: 'Internal error' } }],
    ['{ abort: { rpcError: { code: 1, message: m, data: [1] } } }', { rpcError: { data: [1] } }],
    ['{ abort: { toolError: t, at: response } }', { toolError: 't', at: 'response' }],
    ['{ hang: { for: 1m, at: event, after: { events: 2 } } }', { for: 60_000, keepAlive: false }],
    ['{ reset: { at: stream, after: { bytes: 1KiB }, refuse: 5s } }', { after: { bytes: 1024 } }],
    ['hang', { at: 'request', keepAlive: false }],
    ['reset', { at: 'request', how: 'rst' }],
    ['corrupt', { mode: 'garbage' }],
    ['throttle', { rate: 1024, direction: 'response' }],
    ['{ throttle: { rate: 1MB, chunk: 512B } }', { rate: 1_000_000, chunk: 512 }],
  ])('%s is read', (fault, config) => {
    expect(accepted(faultText(fault)).rules[0]!.faults[0]!.config).toMatchObject(config)
  })
})
