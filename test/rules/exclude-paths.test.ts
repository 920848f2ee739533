import { describe, expect, it } from 'vitest'
import { explain } from '../../src/rules/explain/explain.ts'
import { planHttp } from '../../src/rules/select/plan.ts'
import { Bench, facts, type LooseRule } from './facts.ts'
import { Counter } from './header-counter.ts'

const EXCLUDED = { excludePaths: ['/admin/*', '/billing'] }

const at = (path: string) => facts({}, { http: { method: 'POST', path } })

describe('paths that are excluded', () => {
  it('are matched by no rule, and counted as forbidden', () => {
    const bench = new Bench([{ name: 'all' }], {}, {}, EXCLUDED)
    expect(bench.matched(at('/admin/mcp'))).toEqual([])
    expect(bench.matched(at('/billing'))).toEqual([])
    expect(bench.matched(at('/billing/x'))).toEqual(['all'])
    expect(bench.matched(at('/mcp'))).toEqual(['all'])
    expect(bench.states.of(bench.rules[0]!)?.counts).toMatchObject({ forbidden: 2, matched: 4 })
  })

  it.each([
    '/%61dmin/x',
    '/./admin/x',
    '/mcp/../admin/x',
    '//admin//x',
    '/%2e/admin/x',
    '/b/%2E%2e/billing',
  ])('are recognized in another spelling: %s', (path) => {
    expect(new Bench([{ name: 'all' }], {}, {}, EXCLUDED).matched(at(path))).toEqual([])
  })

  it.each(['/admin/../mcp', '/admin/%2e%2E/mcp', '/admin%2fx', '/%zzadmin/x', '/ADMIN/x'])(
    'do not include a path that only looks like one: %s',
    (path) => {
      expect(new Bench([{ name: 'all' }], {}, {}, EXCLUDED).matched(at(path))).toEqual(['all'])
    },
  )

  it('are matched by no rule that names them, nor are exchanges', () => {
    const spec: LooseRule = {
      match: { http: { path: '/billing' } },
      faults: [{ fault: 'abort', config: { status: 503, at: 'request' } }],
    }
    const bench = new Bench([spec], {}, {}, EXCLUDED)
    const { call: _, ...exchange } = at('/billing')
    expect(planHttp(bench.ruleSet, exchange, bench.states, () => bench.now)).toBeUndefined()
    const open = new Bench([spec])
    expect(planHttp(open.ruleSet, exchange, open.states, () => open.now)).toBeDefined()
  })

  it('give nothing to callers who ask for faults', () => {
    const headers = { 'x-squall-abort': '503' }
    expect(new Counter({ excludePaths: ['/mcp'] }).plan(headers)).toBeUndefined()
    expect(new Counter({ excludePaths: ['/other'] }).plan(headers)).toBeDefined()
  })

  it('are named where a rule is explained', () => {
    const bench = new Bench([{ name: 'all' }], {}, {}, EXCLUDED)
    const reported = explain(bench.ruleSet, at('/billing'), bench.now, bench.states)
    expect(JSON.stringify(reported)).toContain('its path is in --exclude-paths')
  })
})
