import { describe, expect, it } from 'vitest'
import type { HttpSpec } from '../../src/rules/file/match-spec.ts'
import { planHttp, planHttpResponse } from '../../src/rules/select/plan.ts'
import { Bench, facts } from './facts.ts'

function exchange(method: string, path: string) {
  const { headers, session, client } = facts()
  return { headers, session, client, http: { method, path } }
}

function matches(http: HttpSpec, method: string, path: string, status?: number): boolean {
  const bench = new Bench([{ match: { http } }])
  const of = exchange(method, path)
  const plan =
    status === undefined
      ? planHttp(bench.ruleSet, of, bench.states, () => bench.now)
      : planHttpResponse(bench.ruleSet, of, status, bench.states, () => bench.now)
  return plan !== undefined
}

describe('a rule about HTTP', () => {
  it('matches by method and path', () => {
    expect(matches({}, 'GET', '/x')).toBe(true)
    expect(matches({ path: '/api/*' }, 'GET', '/api/users')).toBe(true)
    expect(matches({ path: '/api/*' }, 'GET', '/x')).toBe(false)
    expect(matches({ path: '/mcp', method: 'POST' }, 'POST', '/mcp')).toBe(true)
    expect(matches({ path: '/mcp', method: ['PUT', 'GET'] }, 'POST', '/mcp')).toBe(false)
    expect(matches({ path: { not: '/mcp' } }, 'GET', '/x')).toBe(true)
  })

  it('leaves probes, OAuth and discovery alone unless its path names them', () => {
    for (const path of [
      '/healthz',
      '/.well-known/oauth-protected-resource',
      '/oauth/token',
      '/token',
      '/metrics',
    ]) {
      expect(matches({}, 'GET', path)).toBe(false)
      expect(matches({ path: '*' }, 'GET', path)).toBe(false)
      expect(matches({ path: '/*' }, 'GET', path)).toBe(false)
      expect(matches({ path: { not: '/x' } }, 'GET', path)).toBe(false)
      expect(matches({ path: { regex: '' } }, 'GET', path)).toBe(false)
      expect(matches({ path }, 'GET', path)).toBe(true)
    }
    expect(
      matches({ path: '/.well-known/*' }, 'GET', '/.well-known/oauth-protected-resource'),
    ).toBe(true)
    expect(matches({ path: '/oauth/*' }, 'POST', '/oauth/token')).toBe(true)
  })

  it('leaves preflights alone unless its method names them', () => {
    expect(matches({}, 'OPTIONS', '/mcp')).toBe(false)
    expect(matches({ method: '*' }, 'OPTIONS', '/mcp')).toBe(false)
    expect(matches({ method: ['GET', 'OPTIONS'] }, 'OPTIONS', '/mcp')).toBe(true)
  })

  it('about a status waits for the response, and others do not', () => {
    expect(matches({ status: 200 }, 'GET', '/x')).toBe(false)
    expect(matches({ status: 200 }, 'GET', '/x', 200)).toBe(true)
    expect(matches({ status: ['5xx', 404] }, 'GET', '/x', 503)).toBe(true)
    expect(matches({ status: ['5xx', 404] }, 'GET', '/x', 404)).toBe(true)
    expect(matches({ status: ['5xx', 404] }, 'GET', '/x', 200)).toBe(false)
    expect(matches({ path: '/x' }, 'GET', '/x', 200)).toBe(false)
  })

  it('is not planned for calls, nor the other way round', () => {
    const bench = new Bench([{ name: 'http', match: { http: {} } }, { name: 'call' }])
    expect(bench.matched()).toEqual(['call'])
    const plan = planHttp(bench.ruleSet, exchange('POST', '/mcp'), bench.states, () => bench.now)
    expect(plan!.matched.map((hit) => hit.rule.name)).toEqual(['http'])
  })
})
