import { describe, expect, it } from 'vitest'
import type { MatchSpec } from '../../src/rules/file/match-spec.ts'
import { planHttp } from '../../src/rules/select/plan.ts'
import { Bench, facts } from './facts.ts'

/** True when a rule with this match matches the call. */
function matches(match: MatchSpec, of = facts()): boolean {
  return new Bench([{ match }]).matched(of).length === 1
}

const tool = (name: string, more = {}) => facts({ name, ...more })
const other = (method: string, name?: string) => facts({ method, name })

const withHeaders = (...headers: string[]) => facts({}, { headers })
const withArgs = (args: unknown) => facts({ args })

describe('a rule matches', () => {
  it('tool calls alone when it says nothing of the method', () => {
    expect(matches({})).toBe(true)
    expect(matches({}, other('tools/list'))).toBe(false)
    expect(matches({}, other('prompts/get', 'p'))).toBe(false)
    expect(matches({ headers: {} }, other('tools/list'))).toBe(false)
  })

  it('the method of what it names', () => {
    expect(matches({ prompt: 'p' }, other('prompts/get', 'p'))).toBe(true)
    expect(matches({ resource: 'file:///*' }, other('resources/read', 'file:///x'))).toBe(true)
    expect(matches({ resource: 'file:///*' }, other('resources/subscribe', 'file:///x'))).toBe(
      false,
    )
    expect(
      matches({ method: 'resources/*', resource: 'f' }, other('resources/subscribe', 'f')),
    ).toBe(true)
    expect(matches({ tool: 'p' }, other('prompts/get', 'p'))).toBe(false)
    expect(matches({ method: '*', tool: 'p' }, other('prompts/get', 'p'))).toBe(false)
    expect(matches({ method: '*', tool: 'p' }, tool('p'))).toBe(true)
    expect(matches({ tool: 'a', prompt: 'a' }, tool('a'))).toBe(false)
  })

  it('a list of tools by its own name alone, whatever tool is named beside it', () => {
    expect(matches({ method: 'tools/list', tool: 'a' }, other('tools/list'))).toBe(true)
    expect(matches({ method: ['tools/list', 'tools/call'], tool: 'a' }, tool('b'))).toBe(false)
    expect(matches({ method: '*', tool: 'a' }, other('tools/list'))).toBe(false)
    expect(matches({ method: 'tools/list', any: [{ tool: 'a' }] }, other('tools/list'))).toBe(true)
  })

  it('handshakes by their own name alone', () => {
    for (const method of ['initialize', 'ping', 'server/discover']) {
      expect(matches({ method: '*' }, other(method))).toBe(false)
      expect(matches({ method: { not: 'tools/call' } }, other(method))).toBe(false)
      expect(matches({ method: { regex: '' } }, other(method))).toBe(false)
      expect(matches({ method }, other(method))).toBe(true)
      expect(matches({ method: ['x', method] }, other(method))).toBe(true)
    }
    expect(matches({ method: 'init*' }, other('initialize'))).toBe(false)
  })

  it('methods that nobody has heard of', () => {
    expect(matches({ method: '*' }, other('vendor/thing'))).toBe(true)
    expect(matches({ method: 'vendor/*' }, other('vendor/thing'))).toBe(true)
    expect(matches({ method: 'vendor/*' }, other('other/thing'))).toBe(false)
    expect(matches({ method: ['vendor/thing', 'a/*'] }, other('vendor/thing'))).toBe(true)
    expect(matches({ method: ['vendor/thing', 'a/*'] }, other('a/b'))).toBe(true)
    expect(matches({ method: { regex: '^vendor/' } }, other('vendor/thing'))).toBe(true)
    expect(matches({ method: '*', tool: '*' }, other('vendor/thing', 'x'))).toBe(false)
    expect(matches({ method: '__proto__' }, other('__proto__'))).toBe(true)
  })

  it('names exactly, by glob, list, expression and negation', () => {
    expect(matches({ tool: 'search' })).toBe(true)
    expect(matches({ tool: 'Search' })).toBe(false)
    expect(matches({ tool: 'sea*' })).toBe(true)
    expect(matches({ tool: '*arch' })).toBe(true)
    expect(matches({ tool: '*ear*' })).toBe(true)
    expect(matches({ tool: 's?arch' })).toBe(true)
    expect(matches({ tool: ['a', 'sea*', 'search'] })).toBe(true)
    expect(matches({ tool: ['a', 'b'] })).toBe(false)
    expect(matches({ tool: { regex: '^s.*h$' } })).toBe(true)
    expect(matches({ tool: { regex: '^x' } })).toBe(false)
    expect(matches({ tool: { not: 'search' } })).toBe(false)
    expect(matches({ tool: { not: ['a', 'b*'] } })).toBe(true)
    expect(matches({ tool: { not: '*' } }, tool('a'))).toBe(false)
  })

  it('headers, whatever their case, and each line of one that comes twice', () => {
    const on: MatchSpec = { headers: { 'X-Chaos': 'on' } }
    expect(matches(on, withHeaders('x-CHAOS', 'on'))).toBe(true)
    expect(matches(on, withHeaders('x-chaos', 'off'))).toBe(false)
    expect(matches(on, withHeaders())).toBe(false)
    expect(matches(on, withHeaders('x-chaos', 'off', 'X-Chaos', 'on'))).toBe(true)
    expect(matches({ headers: { a: { not: 'on' } } }, withHeaders('a', 'off', 'a', 'on'))).toBe(
      false,
    )
    expect(matches({ headers: { a: { not: 'on' } } }, withHeaders('a', 'off'))).toBe(true)
    expect(matches({ headers: { a: { absent: true } } }, withHeaders())).toBe(true)
    expect(matches({ headers: { a: { absent: true } } }, withHeaders('a', ''))).toBe(false)
    expect(matches({ headers: { a: { present: true } } }, withHeaders('a', ''))).toBe(true)
    expect(matches({ headers: { a: { present: true } } }, withHeaders())).toBe(false)
    expect(
      matches(
        { headers: { a: { prefix: 'x', suffix: 'z', contains: 'y' } } },
        withHeaders('a', 'xyz'),
      ),
    ).toBe(true)
    expect(matches({ headers: { a: { prefix: 'x', suffix: 'z' } } }, withHeaders('a', 'xy'))).toBe(
      false,
    )
    expect(matches({ headers: { a: { regex: '^[0-9]+$' } } }, withHeaders('a', '12'))).toBe(true)
    expect(matches({ headers: { a: { gt: 10, lt: 20 } } }, withHeaders('a', '12'))).toBe(true)
    expect(matches({ headers: { a: { gt: 10 } } }, withHeaders('a', 'many'))).toBe(false)
    expect(matches({ headers: { a: { gt: -1 } } }, withHeaders('a', ''))).toBe(false)
    expect(matches({ headers: { a: 7 } }, withHeaders('a', '7'))).toBe(true)
  })

  it('a name header by the text that it stands for', () => {
    const encoded = `=?base64?${Buffer.from('wetter-überall').toString('base64')}?=`
    const match: MatchSpec = { headers: { 'mcp-name': 'wetter-überall' } }
    expect(matches(match, facts({}, { headers: ['Mcp-Name', encoded] }))).toBe(true)
    expect(
      matches({ headers: { 'mcp-name': encoded } }, facts({}, { headers: ['Mcp-Name', encoded] })),
    ).toBe(false)
  })

  it('arguments by pointer', () => {
    expect(matches({ args: { '/city': 'Köln' } }, withArgs({ city: 'Köln' }))).toBe(true)
    expect(matches({ args: { '/n': 5 } }, withArgs({ n: 5 }))).toBe(true)
    expect(matches({ args: { '/n': 5 } }, withArgs({ n: '5' }))).toBe(false)
    expect(matches({ args: { '/n': null } }, withArgs({ n: null }))).toBe(true)
    expect(matches({ args: { '/n': null } }, withArgs({}))).toBe(false)
    expect(
      matches({ args: { '/a/1/b~1c': { gt: 1, lt: 3 } } }, withArgs({ a: [0, { 'b/c': 2 }] })),
    ).toBe(true)
    expect(
      matches({ args: { '/a': { exact: { x: 1, y: [2] } } } }, withArgs({ a: { y: [2], x: 1 } })),
    ).toBe(true)
    expect(matches({ args: { '/a': [1, 2] } }, withArgs({ a: [1, 2] }))).toBe(true)
    expect(matches({ args: { '/a': [1, 2] } }, withArgs({ a: { 0: 1, 1: 2 } }))).toBe(false)
    expect(matches({ args: { '/a': { absent: true } } }, withArgs({}))).toBe(true)
    expect(matches({ args: { '/a': { absent: true } } }, withArgs(undefined))).toBe(true)
    expect(matches({ args: { '/a': { not: { gt: 3 } } } }, withArgs({ a: 3 }))).toBe(true)
    expect(matches({ args: { '/a': { regex: 'x' } } }, withArgs({ a: ['x'] }))).toBe(false)
    expect(matches({ args: { '/constructor': { present: true } } }, withArgs({}))).toBe(false)
    expect(matches({ args: { '/a/length': { present: true } } }, withArgs({ a: [1] }))).toBe(false)
    expect(matches({ args: { '': { present: true } } }, withArgs({}))).toBe(true)
  })

  it('session, client, transport and era', () => {
    expect(matches({ session: 's-1' }, facts({}, { session: 's-1' }))).toBe(true)
    expect(matches({ session: { prefix: 'x' } }, facts({}, { session: 's-1' }))).toBe(false)
    expect(matches({ session: { absent: true } })).toBe(true)
    const client = { name: 'inspector', version: '1.2.3' }
    expect(matches({ client: 'insp*' }, facts({}, { client }))).toBe(true)
    expect(matches({ client: { name: 'inspector', version: '1.*' } }, facts({}, { client }))).toBe(
      true,
    )
    expect(matches({ client: { version: '2.*' } }, facts({}, { client }))).toBe(false)
    expect(matches({ client: 'inspector' })).toBe(false)
    expect(matches({ transport: 'http+sse' }, facts({ transport: 'http+sse' }))).toBe(true)
    expect(matches({ transport: ['http+sse'] })).toBe(false)
    expect(matches({ protocolVersion: '2025-06-18' })).toBe(true)
    expect(matches({ protocolVersion: '>=2025-06-18' })).toBe(true)
    expect(matches({ protocolVersion: '> 2025-06-18' })).toBe(false)
    expect(matches({ protocolVersion: '>=2025-03-26 <2025-11-25' })).toBe(true)
    expect(matches({ protocolVersion: ['2024-11-05', '<2025-01-01'] })).toBe(false)
    expect(matches({ protocolVersion: '>=2024-11-05' }, facts({ protocolVersion: 'draft' }))).toBe(
      false,
    )
    expect(matches({ protocolVersion: '2026-07-28' }, facts({ protocolVersion: undefined }))).toBe(
      false,
    )
    expect(
      matches(
        { protocolVersion: '2025-11-25' },
        facts({ protocolVersion: undefined }, { protocolVersion: '2025-11-25' }),
      ),
    ).toBe(true)
  })

  it('combinations', () => {
    const either: MatchSpec = { any: [{ tool: 'a' }, { prompt: 'p' }, { headers: { x: '1' } }] }
    expect(matches(either, tool('a'))).toBe(true)
    expect(matches(either, other('prompts/get', 'p'))).toBe(true)
    expect(matches(either, tool('b'))).toBe(false)
    expect(matches(either, facts({ name: 'b' }, { headers: ['x', '1'] }))).toBe(true)
    expect(matches(either, facts({ method: 'tools/list' }, { headers: ['x', '1'] }))).toBe(false)
    expect(
      matches(
        { all: [{ method: 'tools/list' }, { headers: { x: '1' } }] },
        facts({ method: 'tools/list' }, { headers: ['x', '1'] }),
      ),
    ).toBe(true)
    expect(matches({ all: [{ tool: 'se*' }, { tool: '*ch' }] })).toBe(true)
    expect(matches({ all: [{ tool: 'se*' }, { tool: '*x' }] })).toBe(false)
    expect(matches({ tool: 's*', not: { tool: 'search' } })).toBe(false)
    expect(matches({ tool: 's*', not: { headers: { x: '1' } } })).toBe(true)
    expect(matches({ not: { tool: 'search' } }, tool('other'))).toBe(true)
    expect(matches({ not: { any: [{ tool: 'a' }, { tool: 'b' }] } }, tool('b'))).toBe(false)
    expect(matches({ method: '*', not: { method: 'tools/call' } }, other('prompts/get', 'x'))).toBe(
      true,
    )
    expect(matches({ any: [{ method: 'initialize' }, { tool: 'x' }] }, other('initialize'))).toBe(
      true,
    )
  })
})

describe('a rule about baggage', () => {
  const of = (baggage: unknown, ...headers: string[]) =>
    facts({ params: { name: 'search', _meta: { baggage } } }, { headers })
  const canary: MatchSpec = { baggage: { tenant: 'canary' } }

  it('matches the member of `_meta` or else of the header', () => {
    expect(matches(canary, of('tenant=canary'))).toBe(true)
    expect(matches(canary, of(undefined, 'Baggage', 'a=b, tenant=canary;p=1'))).toBe(true)
    expect(matches(canary, of(undefined, 'baggage', 'a=b', 'BAGGAGE', 'tenant=canary'))).toBe(true)
    expect(matches(canary, of('tenant=other', 'baggage', 'tenant=canary'))).toBe(false)
    expect(matches(canary, of('Tenant=canary'))).toBe(false)
    expect(matches(canary)).toBe(false)
  })

  it.each([
    7,
    { tenant: 'canary' },
    ['tenant=canary'],
    null,
    '',
    'tenant',
    `a=${'x'.repeat(9000)}`,
  ])('leaves the header where `_meta` has no valid member (%#)', (baggage) => {
    expect(matches(canary, of(baggage))).toBe(false)
    expect(matches(canary, of(baggage, 'baggage', 'tenant=canary'))).toBe(true)
  })

  it('has the operators of header values', () => {
    const holds = (value: NonNullable<MatchSpec['baggage']>[string], text = 'tenant=canary-1') =>
      matches({ baggage: { tenant: value } }, of(text))
    expect(holds({ prefix: 'canary-', suffix: '1', contains: 'ary' })).toBe(true)
    expect(holds({ regex: '^canary-[0-9]$' })).toBe(true)
    expect(holds({ not: 'canary-1' })).toBe(false)
    expect(holds({ not: 'canary-1' }, 'tenant=b,tenant=canary-1')).toBe(false)
    expect(holds({ present: true })).toBe(true)
    expect(holds({ absent: true })).toBe(false)
    expect(holds({ absent: true }, 'a=b')).toBe(true)
  })

  it('matches HTTP exchanges by the header', () => {
    const rules = [{ match: { http: { path: '/x' }, ...canary } }]
    const bench = new Bench(rules)
    const http = { method: 'GET', path: '/x' }
    const plan = (headers: string[]) =>
      planHttp(bench.ruleSet, { ...facts(), http, headers }, bench.states, () => bench.now)
    expect(plan(['baggage', 'tenant=canary'])).toBeDefined()
    expect(plan([])).toBeUndefined()
  })
})
