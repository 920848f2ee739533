import { describe, expect, it } from 'vitest'
import { abort } from '../../src/filters/abort.ts'
import { parameterProblems } from '../../src/filters/lib/exclusive.ts'
import { createFault, FAULTS } from '../../src/filters/index.ts'
import type { FaultUse } from '../../src/filters/index.ts'
import { Context, TOOL_CALL } from './context.ts'

describe('abort', () => {
  it('answers with a status, a body and headers', async () => {
    const ctx = new Context()
    const headers = { 'x-a': 'b' }
    const fault = abort.create({ status: 503, body: 'no', headers, at: 'request' })
    expect(await fault.onRequest!(ctx)).toEqual({
      kind: 'respond',
      reply: { kind: 'http', status: 503, body: 'no', headers },
    })
    expect(ctx.effects).toBe(1)
    expect(Object.keys(fault)).toEqual(['onRequest'])
  })

  it('answers plain HTTP with a status as well', async () => {
    const fault = abort.create({ status: 404, at: 'request' })
    expect(await fault.onRequest!(new Context({ call: undefined }))).toEqual({
      kind: 'respond',
      reply: { kind: 'http', status: 404, body: undefined, headers: {} },
    })
  })

  it('answers with a JSON-RPC error, where there is a call', async () => {
    const rpcError = { code: -32000, message: 'm', data: { a: 1 } }
    const fault = abort.create({ rpcError, at: 'request' })
    expect(await fault.onRequest!(new Context())).toEqual({
      kind: 'respond',
      reply: { kind: 'rpcError', ...rpcError },
    })
    const plain = new Context({ call: undefined })
    expect(await fault.onRequest!(plain)).toEqual({ kind: 'continue' })
    expect(plain.effects).toBe(0)
  })

  it('answers tool calls, and nothing else, with a failed tool', async () => {
    const fault = abort.create({ toolError: 'lost', at: 'request' })
    expect(await fault.onRequest!(new Context())).toEqual({
      kind: 'respond',
      reply: { kind: 'toolError', text: 'lost' },
    })
    const other = new Context({ call: { ...TOOL_CALL, method: 'prompts/get' } })
    expect(await fault.onRequest!(other)).toEqual({ kind: 'continue' })
    expect(other.effects).toBe(0)
  })

  it('at the response lets the upstream execute the call first', async () => {
    const fault = abort.create({ toolError: 'lost', at: 'response' })
    expect(Object.keys(fault)).toEqual(['beforeResponse'])
    expect(await fault.beforeResponse!(new Context())).toMatchObject({ kind: 'respond' })
  })

  it.each([
    [{}, ['']],
    [{ status: 500, toolError: 'x' }, ['toolError']],
    [
      { status: 500, rpcError: { code: 1, message: '' }, toolError: 'x' },
      ['rpcError', 'toolError'],
    ],
    [{ toolError: 'x', body: 'b', headers: {} }, ['body', 'headers']],
    [{ status: 500, headers: { 'a b': 'c' } }, ['headers.a b']],
    [{ status: 500, headers: { a: 'b\r\nc: d' } }, ['headers.a']],
    [{ status: 500, headers: { 'Content-Length': '3' } }, ['headers.Content-Length']],
    [{ status: 500, headers: { 'transfer-encoding': 'chunked' } }, ['headers.transfer-encoding']],
  ])('of %j is refused', (parameters, paths) => {
    const problems = parameterProblems(abort, { at: 'request', ...parameters })
    expect(problems.map((problem) => problem.path.join('.'))).toEqual(paths)
  })
})

describe('the list of faults', () => {
  it('makes the fault that a rule uses', () => {
    const use: FaultUse = { fault: 'abort', config: { status: 500, at: 'request' } }
    expect(Object.keys(createFault(use))).toEqual(['onRequest'])
    expect(() => createFault({ ...use, fault: 'none' } as unknown as FaultUse)).toThrow('none')
  })

  it('has names that differ and summaries of one line', () => {
    expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length)
    for (const { summary } of FAULTS) expect(summary).toMatch(/^[a-z][^.\n]+[^.]$/)
  })
})
