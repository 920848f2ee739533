import { describe, expect, it } from 'vitest'
import { session } from '../../src/filters/session.ts'
import { Context, TOOL_CALL } from './context.ts'
import { findings, parameters } from './fault-text.ts'

const INITIALIZE = { ...TOOL_CALL, method: 'initialize', name: undefined }
const CONTINUE = { kind: 'continue' }

describe('session', () => {
  it('ends the session of the call, and answers as a server that does not know it', async () => {
    const ctx = new Context({ session: 's1' })
    expect(await session.create({ expire: true }).onRequest!(ctx)).toEqual({
      kind: 'respond',
      reply: {
        kind: 'http',
        status: 404,
        body: '{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Session not found"}}',
        headers: { 'Content-Type': 'application/json' },
        forAll: true,
      },
      endsSession: true,
    })
    expect(ctx.effects).toBe(1)
  })

  it.each([
    ['there is none', {}],
    [
      'the protocol version has none',
      { session: 's1', call: { ...TOOL_CALL, protocolVersion: '2026-07-28' } },
    ],
  ])('does nothing where %s', async (_, options) => {
    const ctx = new Context(options)
    expect(await session.create({ expire: true }).onRequest!(ctx)).toEqual(CONTINUE)
    expect([ctx.effects, ctx.limited, ctx.reached]).toEqual([0, 0, []])
  })

  it('ends no session that it cannot answer for', () => {
    const ctx = new Context({ session: 's1' })
    const over = Object.assign(ctx, {
      injected: () => {
        throw new Error('over')
      },
    })
    expect(() => session.create({ expire: true }).onRequest!(over)).toThrow('over')
    expect(ctx.reached).toEqual([])
  })

  it('refuses so many handshakes in all, and lets the next pass', async () => {
    const fault = session.create({ expire: true, rejectInitialize: { times: 2, status: 502 } })
    const first = new Context({ call: INITIALIZE })
    const kinds: unknown[] = []
    for (const ctx of [
      first,
      ...[1, 2].map(() => new Context({ call: INITIALIZE, after: first })),
    ]) {
      const verdict = await fault.onRequest!(ctx)
      kinds.push([verdict.kind, ctx.effects, ctx.limited])
      if (verdict.kind === 'respond') expect(verdict.reply).toMatchObject({ status: 502 })
    }
    expect(kinds).toEqual([
      ['respond', 1, 0],
      ['respond', 1, 0],
      ['continue', 0, 1],
    ])
  })

  it('only refuses handshakes when it is to end no session', async () => {
    const fault = session.create({ expire: false, rejectInitialize: { times: 1, status: 503 } })
    const ctx = new Context({ session: 's1' })
    expect(await fault.onRequest!(ctx)).toEqual(CONTINUE)
    expect(ctx.reached).toEqual([])
  })
})

describe('session in a file', () => {
  it.each([
    ['{}', { expire: true }],
    ['{ rejectInitialize: {} }', { expire: true, rejectInitialize: { times: 1, status: 503 } }],
    [
      '{ expire: false, rejectInitialize: { times: 3, status: 500 } }',
      { expire: false, rejectInitialize: { times: 3, status: 500 } },
    ],
  ])('%s is read', (text, config) => {
    expect(parameters('session', text)).toEqual(config)
  })

  it.each([
    ['{ expire: {} }', '3:37 wrong_type .expire'],
    ['{ expire: false }', '3:29 conflict .expire'],
    ['{ rejectInitialize: { times: 0 } }', '3:56 out_of_range .rejectInitialize.times'],
    ['{ rejectInitialize: { status: 200 } }', '3:57 out_of_range .rejectInitialize.status'],
    ['{ expires: true }', '3:29 unknown_key .expires'],
  ])('%s is refused', (text, place) => {
    expect(findings('session', text)).toEqual([place])
  })
})
