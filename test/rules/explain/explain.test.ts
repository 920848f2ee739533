import { describe, expect, it } from 'vitest'
import { compileRules } from '../../../src/rules/match/compile.ts'
import { explain } from '../../../src/rules/explain/explain.ts'
import { explainText } from '../../../src/rules/explain/explain-text.ts'
import { planCall, planHttp } from '../../../src/rules/select/plan.ts'
import { Bench, facts, rule } from '../facts.ts'

describe('an explanation', () => {
  it('names each dimension that fails, what it wants and what was found', () => {
    const bench = new Bench([
      {
        match: {
          tool: 'sea*',
          headers: { 'x-chaos': 'on', a: { present: true } },
          args: { '/n': { gt: 5 } },
          protocolVersion: '>=2025-11-25',
        },
      },
    ])
    const of = facts({ args: { n: 3 } }, { headers: ['X-Chaos', 'off'] })
    const [outlook] = explain(bench.ruleSet, of, bench.now, bench.states).rules
    expect(outlook).toMatchObject({ matches: false, result: undefined })
    expect(outlook!.failing).toEqual([
      { dimension: 'protocolVersion', wants: '>=2025-11-25', found: '2025-06-18' },
      { dimension: 'headers.x-chaos', wants: '"on"', found: 'off' },
      { dimension: 'headers.a', wants: 'present', found: 'absent' },
      { dimension: 'args./n', wants: '> 5', found: '3' },
    ])
  })

  it('shows no secrets', () => {
    const bench = new Bench([{ match: { headers: { authorization: 'Bearer a' } } }])
    const of = facts({}, { headers: ['authorization', 'Bearer hidden'] })
    expect(JSON.stringify(explain(bench.ruleSet, of, bench.now))).not.toContain('hidden')
  })

  it('foretells what the next call meets, and changes nothing', () => {
    const bench = new Bench([
      { percent: 30 },
      { first: 3 },
      { every: 4 },
      { times: 5 },
      { burst: { rate: 0.4, length: 3 }, percent: 70 },
      { for: 20 },
      { match: { tool: 'x' } },
      { percent: 50, stickyBy: { header: 'x-user' } },
      { percent: 20, stops: true },
      { dryRun: true },
      {},
    ])
    for (let i = 0; i < 60; i++) {
      bench.now++
      const of = facts({}, { headers: ['x-user', `user-${i}`] })
      const said = explain(bench.ruleSet, of, bench.now, bench.states)
      expect(explain(bench.ruleSet, of, bench.now, bench.states)).toEqual(said)
      const foretold = said.rules.filter(
        ({ result }) => result === 'sampled' || result === 'dry_run',
      )
      expect(foretold.map((outlook) => outlook.rule)).toEqual(bench.matched(of))
    }
  })

  it('speaks of rules that have just become active when it knows no state', () => {
    const ruleSet = compileRules({ rules: [rule({ first: 1, for: 10 }), rule({ from: 99 }, 1)] })
    const { rules } = explain(ruleSet, facts(), 5)
    expect(rules.map((outlook) => outlook.result)).toEqual(['sampled', 'not_yet'])
  })

  it('says what the faults do', () => {
    const { rules } = explain(new Bench([{}]).ruleSet, facts(), 0)
    const does = 'responds with a tool error'
    const responded = { acts: 'yes', by: 'request', does, ends: true }
    expect(rules[0]!.faults).toEqual([
      {
        fault: 'abort',
        summary: 'responds to a call with an HTTP, JSON-RPC or tool error',
        config: { toolError: 'injected', at: 'request' },
        responses: [
          { on: 'json', here: true, ...responded },
          { on: 'sse', here: true, ...responded },
          { on: 'http+sse', here: false, ...responded },
          { on: 'batch', here: false, ...responded },
          { on: 'batch-sse', here: false, ...responded },
        ],
      },
    ])
  })

  it('says which fault keeps others from having a turn', () => {
    const abort = { fault: 'abort', config: { toolError: 'x', at: 'request' } } as const
    const late = { fault: 'delay', config: { fixed: 1, max: 9, at: 'response' } } as const
    const early = { fault: 'delay', config: { fixed: 1, max: 9, at: 'request' } } as const
    const bench = new Bench([
      { name: 'a', faults: [early, late] },
      { name: 'b', faults: [abort] },
      { name: 'c', faults: [early] },
      { name: 'd', faults: [late], match: { http: {} } },
    ])
    const json = (batched: boolean) =>
      explain(bench.ruleSet, facts(), 0, undefined, batched).rules.map((each) => [
        each.rule,
        ...each.faults.map(({ responses }) => responses[0]!.behind ?? responses[0]!.acts),
      ])
    expect(json(false)).toEqual([
      ['a', 'yes', 'b/abort'],
      ['b', 'yes'],
      ['c', 'b/abort'],
      ['d', 'b/abort'],
    ])
    expect(json(true).at(-1)).toEqual(['d', 'yes'])
    bench.load([
      { name: 'a', faults: [early] },
      {
        name: 'b',
        faults: [{ fault: 'hang', config: { at: 'request', keepAlive: false } }],
        match: { http: {} },
      },
    ])
    expect(json(false)).toEqual([
      ['a', 'b/hang'],
      ['b', 'yes'],
    ])
  })

  it('knows that rules about HTTP stop each other, and no rules about calls', () => {
    const bench = new Bench([{ name: 'a', match: { http: {} }, stops: true }, { name: 'b' }])
    const { rules } = explain(bench.ruleSet, facts(), 0)
    expect(rules.map(({ result }) => result)).toEqual(['sampled', 'sampled'])
    const clock = () => bench.now
    expect(planHttp(bench.ruleSet, facts(), bench.states, clock)?.matched).toHaveLength(1)
    expect(planCall(bench.ruleSet, facts(), bench.states, clock)?.matched).toHaveLength(1)
  })

  it('leaves rules about calls out of plain HTTP, and shows why others fail there', () => {
    const bench = new Bench([{}, { match: { http: { path: '/api/*' } } }])
    const { headers, session, client } = facts()
    const http = { method: 'GET', path: '/x' }
    const { rules } = explain(bench.ruleSet, { headers, session, client, http }, 0)
    expect(rules.map((outlook) => outlook.rule)).toEqual(['rule-1'])
    expect(rules[0]!.failing).toEqual([{ dimension: 'http.path', wants: '/api/*', found: '/x' }])
  })

  // Both read as nothing once, when results were renamed and the texts kept the old names.
  it('says why a rule that matches does nothing', () => {
    const bench = new Bench([
      { name: 'once', times: 1 },
      { name: 'dry', dryRun: true },
      { name: 'later', after: 9 },
      { name: 'off', enabled: false, stops: true },
      { name: 'off-too', enabled: false, match: { tool: 'b' } },
      { name: 'last' },
    ])
    bench.plan()
    const text = explainText(explain(bench.ruleSet, facts(), bench.now, bench.states))
    expect(text).toContain('once: matches, but its `times` limit is reached')
    expect(text).toContain('dry: matches, and would sample this call, but is a dry run')
    expect(text).toContain(
      'later: matches, but `first`, `after`, `every` or `episode` skips call 2',
    )
    expect(text).toContain('off: matches, but is disabled in the file\n')
    expect(text).toContain(
      'off-too: does not match, and is disabled in the file\n  tool: expected b',
    )
    expect(text).toContain('last: matches, and samples this call')
  })

  it('reads well', () => {
    const bench = new Bench([
      { name: 'slow', percent: 30 },
      { name: 'stops', stops: true },
      { name: 'late', match: { any: [{ tool: 'search' }, { prompt: 'p' }] } },
      { name: 'elsewhere', match: { tool: ['a', 'b*'] } },
    ])
    expect(explainText(explain(bench.ruleSet, facts(), bench.now, bench.states)))
      .toMatchInlineSnapshot(`
        "slow: matches, and samples this call
          call 1, key 1: sample 0.1518, must be below 0.3
          abort: { toolError: injected }
            JSON, stream: responds with a tool error
            (HTTP+SSE, batch in JSON, batch by stream: responds with a tool error)
        stops: matches, and samples this call
          abort: { toolError: injected }
            JSON, stream: is not reached: slow/abort responds first
            (HTTP+SSE, batch in JSON, batch by stream: is not reached: slow/abort
              responds first)
        late: matches, but stops samples it, with \`then: stop\`
          abort: { toolError: injected }
            JSON, stream: responds with a tool error
            (HTTP+SSE, batch in JSON, batch by stream: responds with a tool error)
        elsewhere: does not match
          tool: expected a or b*, got search

        In brackets: response types that do not apply to this call.
        "
      `)
    const off = new Bench([{ name: 'a' }], { enabled: false })
    expect(explainText(explain(off.ruleSet, facts(), 0))).toContain('enabled: false')
  })
})
