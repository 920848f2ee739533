import { describe, expect, it } from 'vitest'
import { amplify } from '../../src/filters/amplify.ts'
import { Context } from './context.ts'
import { findings, parameters } from './fault-text.ts'

describe('amplify', () => {
  it('asks for copies of the call', async () => {
    const ctx = new Context()
    const fault = amplify.create({ copies: 3, spacing: 200 })
    expect(await fault.onRequest!(ctx)).toEqual({ kind: 'copies', copies: 3, spacing: 200 })
    expect(ctx.effects).toBe(1)
  })

  it('has nothing to copy where there is no call', async () => {
    const ctx = new Context({ call: undefined })
    const fault = amplify.create({ copies: 3, spacing: 200 })
    expect(await fault.onRequest!(ctx)).toEqual({ kind: 'continue' })
    expect(ctx.effects).toBe(0)
  })
})

describe('amplify in a file', () => {
  it.each([
    ['{}', { copies: 2, spacing: 0 }],
    ['{ copies: 100, spacing: 36s }', { copies: 100, spacing: 36_000 }],
  ])('%s is read', (text, config) => {
    expect(parameters('amplify', text)).toEqual(config)
  })

  it.each([
    ['{ copies: 0 }', '3:37 out_of_range .copies'],
    ['{ copies: 101 }', '3:37 out_of_range .copies'],
    ['{ spacing: 5 }', '3:38 wrong_type .spacing'],
    ['{ copies: 100, spacing: 37s }', '3:42 conflict .spacing'],
    ['{ times: 3 }', '3:29 unknown_key .times'],
  ])('%s is refused', (text, place) => {
    expect(findings('amplify', text)).toEqual([place])
  })
})
