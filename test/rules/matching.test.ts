import { describe, expect, it } from 'vitest'
import type { MatchSpec } from '../../src/rules/file/match-spec.ts'
import { Bench, facts } from './facts.ts'

/** True when a rule with this match hits the call. */
function hits(match: MatchSpec, of = facts()): boolean {
  return new Bench([{ match }]).matched(of).length === 1
}

const tool = (name: string, more = {}) => facts({ name, ...more })
const other = (method: string, name?: string) => facts({ method, name })

const withHeaders = (...headers: string[]) => facts({}, { headers })
const withArgs = (args: unknown) => facts({ args })

describe('a rule matches', () => {
  it('tool calls alone when it says nothing of the method', () => {
    expect(hits({})).toBe(true)
    expect(hits({}, other('tools/list'))).toBe(false)
    expect(hits({}, other('prompts/get', 'p'))).toBe(false)
    expect(hits({ headers: {} }, other('tools/list'))).toBe(false)
  })

  it('the method of what it names', () => {
    expect(hits({ prompt: 'p' }, other('prompts/get', 'p'))).toBe(true)
    expect(hits({ resource: 'file:///*' }, other('resources/read', 'file:///x'))).toBe(true)
    expect(hits({ resource: 'file:///*' }, other('resources/subscribe', 'file:///x'))).toBe(false)
    expect(hits({ method: 'resources/*', resource: 'f' }, other('resources/subscribe', 'f'))).toBe(
      true,
    )
    expect(hits({ tool: 'p' }, other('prompts/get', 'p'))).toBe(false)
    expect(hits({ method: '*', tool: 'p' }, other('prompts/get', 'p'))).toBe(false)
    expect(hits({ method: '*', tool: 'p' }, tool('p'))).toBe(true)
    expect(hits({ tool: 'a', prompt: 'a' }, tool('a'))).toBe(false)
  })

  it('a list of tools by its own name alone, whatever tool is named beside it', () => {
    expect(hits({ method: 'tools/list', tool: 'a' }, other('tools/list'))).toBe(true)
    expect(hits({ method: ['tools/list', 'tools/call'], tool: 'a' }, tool('b'))).toBe(false)
    expect(hits({ method: '*', tool: 'a' }, other('tools/list'))).toBe(false)
    expect(hits({ method: 'tools/list', any: [{ tool: 'a' }] }, other('tools/list'))).toBe(true)
  })

  it('handshakes by their own name alone', () => {
    for (const method of ['initialize', 'ping', 'server/discover']) {
      expect(hits({ method: '*' }, other(method))).toBe(false)
      expect(hits({ method: { not: 'tools/call' } }, other(method))).toBe(false)
      expect(hits({ method: { regex: '' } }, other(method))).toBe(false)
      expect(hits({ method }, other(method))).toBe(true)
      expect(hits({ method: ['x', method] }, other(method))).toBe(true)
    }
    expect(hits({ method: 'init*' }, other('initialize'))).toBe(false)
  })

  it('methods that nobody has heard of', () => {
    expect(hits({ method: '*' }, other('vendor/thing'))).toBe(true)
    expect(hits({ method: 'vendor/*' }, other('vendor/thing'))).toBe(true)
    expect(hits({ method: 'vendor/*' }, other('other/thing'))).toBe(false)
    expect(hits({ method: ['vendor/thing', 'a/*'] }, other('vendor/thing'))).toBe(true)
    expect(hits({ method: ['vendor/thing', 'a/*'] }, other('a/b'))).toBe(true)
    expect(hits({ method: { regex: '^vendor/' } }, other('vendor/thing'))).toBe(true)
    expect(hits({ method: '*', tool: '*' }, other('vendor/thing', 'x'))).toBe(false)
    expect(hits({ method: '__proto__' }, other('__proto__'))).toBe(true)
  })

  it('names exactly, by glob, list, expression and negation', () => {
    expect(hits({ tool: 'search' })).toBe(true)
    expect(hits({ tool: 'Search' })).toBe(false)
    expect(hits({ tool: 'sea*' })).toBe(true)
    expect(hits({ tool: '*arch' })).toBe(true)
    expect(hits({ tool: '*ear*' })).toBe(true)
    expect(hits({ tool: 's?arch' })).toBe(true)
    expect(hits({ tool: ['a', 'sea*', 'search'] })).toBe(true)
    expect(hits({ tool: ['a', 'b'] })).toBe(false)
    expect(hits({ tool: { regex: '^s.*h$' } })).toBe(true)
    expect(hits({ tool: { regex: '^x' } })).toBe(false)
    expect(hits({ tool: { not: 'search' } })).toBe(false)
    expect(hits({ tool: { not: ['a', 'b*'] } })).toBe(true)
    expect(hits({ tool: { not: '*' } }, tool('a'))).toBe(false)
  })

  it('headers, whatever their case, and each line of one that comes twice', () => {
    const on: MatchSpec = { headers: { 'X-Chaos': 'on' } }
    expect(hits(on, withHeaders('x-CHAOS', 'on'))).toBe(true)
    expect(hits(on, withHeaders('x-chaos', 'off'))).toBe(false)
    expect(hits(on, withHeaders())).toBe(false)
    expect(hits(on, withHeaders('x-chaos', 'off', 'X-Chaos', 'on'))).toBe(true)
    expect(hits({ headers: { a: { not: 'on' } } }, withHeaders('a', 'off', 'a', 'on'))).toBe(false)
    expect(hits({ headers: { a: { not: 'on' } } }, withHeaders('a', 'off'))).toBe(true)
    expect(hits({ headers: { a: { absent: true } } }, withHeaders())).toBe(true)
    expect(hits({ headers: { a: { absent: true } } }, withHeaders('a', ''))).toBe(false)
    expect(hits({ headers: { a: { present: true } } }, withHeaders('a', ''))).toBe(true)
    expect(hits({ headers: { a: { present: true } } }, withHeaders())).toBe(false)
    expect(
      hits(
        { headers: { a: { prefix: 'x', suffix: 'z', contains: 'y' } } },
        withHeaders('a', 'xyz'),
      ),
    ).toBe(true)
    expect(hits({ headers: { a: { prefix: 'x', suffix: 'z' } } }, withHeaders('a', 'xy'))).toBe(
      false,
    )
    expect(hits({ headers: { a: { regex: '^[0-9]+$' } } }, withHeaders('a', '12'))).toBe(true)
    expect(hits({ headers: { a: { gt: 10, lt: 20 } } }, withHeaders('a', '12'))).toBe(true)
    expect(hits({ headers: { a: { gt: 10 } } }, withHeaders('a', 'many'))).toBe(false)
    expect(hits({ headers: { a: { gt: -1 } } }, withHeaders('a', ''))).toBe(false)
    expect(hits({ headers: { a: 7 } }, withHeaders('a', '7'))).toBe(true)
  })

  it('a name header by the text that it stands for', () => {
    const encoded = `=?base64?${Buffer.from('wetter-überall').toString('base64')}?=`
    const match: MatchSpec = { headers: { 'mcp-name': 'wetter-überall' } }
    expect(hits(match, facts({}, { headers: ['Mcp-Name', encoded] }))).toBe(true)
    expect(
      hits({ headers: { 'mcp-name': encoded } }, facts({}, { headers: ['Mcp-Name', encoded] })),
    ).toBe(false)
  })

  it('arguments by pointer', () => {
    expect(hits({ args: { '/city': 'Köln' } }, withArgs({ city: 'Köln' }))).toBe(true)
    expect(hits({ args: { '/n': 5 } }, withArgs({ n: 5 }))).toBe(true)
    expect(hits({ args: { '/n': 5 } }, withArgs({ n: '5' }))).toBe(false)
    expect(hits({ args: { '/n': null } }, withArgs({ n: null }))).toBe(true)
    expect(hits({ args: { '/n': null } }, withArgs({}))).toBe(false)
    expect(
      hits({ args: { '/a/1/b~1c': { gt: 1, lt: 3 } } }, withArgs({ a: [0, { 'b/c': 2 }] })),
    ).toBe(true)
    expect(
      hits({ args: { '/a': { exact: { x: 1, y: [2] } } } }, withArgs({ a: { y: [2], x: 1 } })),
    ).toBe(true)
    expect(hits({ args: { '/a': [1, 2] } }, withArgs({ a: [1, 2] }))).toBe(true)
    expect(hits({ args: { '/a': [1, 2] } }, withArgs({ a: { 0: 1, 1: 2 } }))).toBe(false)
    expect(hits({ args: { '/a': { absent: true } } }, withArgs({}))).toBe(true)
    expect(hits({ args: { '/a': { absent: true } } }, withArgs(undefined))).toBe(true)
    expect(hits({ args: { '/a': { not: { gt: 3 } } } }, withArgs({ a: 3 }))).toBe(true)
    expect(hits({ args: { '/a': { regex: 'x' } } }, withArgs({ a: ['x'] }))).toBe(false)
    expect(hits({ args: { '/constructor': { present: true } } }, withArgs({}))).toBe(false)
    expect(hits({ args: { '/a/length': { present: true } } }, withArgs({ a: [1] }))).toBe(false)
    expect(hits({ args: { '': { present: true } } }, withArgs({}))).toBe(true)
  })

  it('session, client, transport and era', () => {
    expect(hits({ session: 's-1' }, facts({}, { session: 's-1' }))).toBe(true)
    expect(hits({ session: { prefix: 'x' } }, facts({}, { session: 's-1' }))).toBe(false)
    expect(hits({ session: { absent: true } })).toBe(true)
    const client = { name: 'inspector', version: '1.2.3' }
    expect(hits({ client: 'insp*' }, facts({}, { client }))).toBe(true)
    expect(hits({ client: { name: 'inspector', version: '1.*' } }, facts({}, { client }))).toBe(
      true,
    )
    expect(hits({ client: { version: '2.*' } }, facts({}, { client }))).toBe(false)
    expect(hits({ client: 'inspector' })).toBe(false)
    expect(hits({ transport: 'http+sse' }, facts({ transport: 'http+sse' }))).toBe(true)
    expect(hits({ transport: ['http+sse'] })).toBe(false)
    expect(hits({ protocolVersion: '2025-06-18' })).toBe(true)
    expect(hits({ protocolVersion: '>=2025-06-18' })).toBe(true)
    expect(hits({ protocolVersion: '> 2025-06-18' })).toBe(false)
    expect(hits({ protocolVersion: '>=2025-03-26 <2025-11-25' })).toBe(true)
    expect(hits({ protocolVersion: ['2024-11-05', '<2025-01-01'] })).toBe(false)
    expect(hits({ protocolVersion: '>=2024-11-05' }, facts({ protocolVersion: 'draft' }))).toBe(
      false,
    )
    expect(hits({ protocolVersion: '2026-07-28' }, facts({ protocolVersion: undefined }))).toBe(
      false,
    )
    expect(
      hits(
        { protocolVersion: '2025-11-25' },
        facts({ protocolVersion: undefined }, { protocolVersion: '2025-11-25' }),
      ),
    ).toBe(true)
  })

  it('combinations', () => {
    const either: MatchSpec = { any: [{ tool: 'a' }, { prompt: 'p' }, { headers: { x: '1' } }] }
    expect(hits(either, tool('a'))).toBe(true)
    expect(hits(either, other('prompts/get', 'p'))).toBe(true)
    expect(hits(either, tool('b'))).toBe(false)
    expect(hits(either, facts({ name: 'b' }, { headers: ['x', '1'] }))).toBe(true)
    expect(hits(either, facts({ method: 'tools/list' }, { headers: ['x', '1'] }))).toBe(false)
    expect(
      hits(
        { all: [{ method: 'tools/list' }, { headers: { x: '1' } }] },
        facts({ method: 'tools/list' }, { headers: ['x', '1'] }),
      ),
    ).toBe(true)
    expect(hits({ all: [{ tool: 'se*' }, { tool: '*ch' }] })).toBe(true)
    expect(hits({ all: [{ tool: 'se*' }, { tool: '*x' }] })).toBe(false)
    expect(hits({ tool: 's*', not: { tool: 'search' } })).toBe(false)
    expect(hits({ tool: 's*', not: { headers: { x: '1' } } })).toBe(true)
    expect(hits({ not: { tool: 'search' } }, tool('other'))).toBe(true)
    expect(hits({ not: { any: [{ tool: 'a' }, { tool: 'b' }] } }, tool('b'))).toBe(false)
    expect(hits({ method: '*', not: { method: 'tools/call' } }, other('prompts/get', 'x'))).toBe(
      true,
    )
    expect(hits({ any: [{ method: 'initialize' }, { tool: 'x' }] }, other('initialize'))).toBe(true)
  })
})
