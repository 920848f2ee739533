import { describe, expect, it } from 'vitest'
import { isRulesFileName } from '../../../src/rules/file/rules-file.ts'
import { STOP_KEY, stopReason, stopsText } from '../../../src/rules/guard/stop-key.ts'

const LABELS = { app: 'shop' }

describe('a stop key', () => {
  it('is no name of a rules file', () => {
    expect(isRulesFileName(STOP_KEY)).toBe(false)
  })

  it('stops the pods that it is about, and says by whom', () => {
    const text = stopsText([{ selector: 'app=shop', by: 'alice', at: '2026-01-01T00:00:00Z' }])
    expect(stopReason(text, LABELS)).toBe(
      'squall stop -l app=shop by alice at 2026-01-01T00:00:00Z',
    )
    expect(stopReason(text, { app: 'bank' })).toBeUndefined()
    expect(stopReason(stopsText([{}]), { app: 'bank' })).toBe('squall stop')
    expect(stopReason(stopsText([]), LABELS)).toBeUndefined()
  })

  it.each([
    '',
    '{}',
    'no JSON',
    '[]',
    'null',
    '{"stops":[1]}',
    '{"stops":[{"selector":3}]}',
    '{"stops":[{"selector":"a>3"}]}',
    stopsText(Array.from({ length: 200 }, () => ({ selector: 'app=bank' }))),
  ])('stops in doubt: %.40s', (text) => {
    expect(stopReason(text, LABELS)).toBeTypeOf('string')
  })

  it('stops a pod whose labels are not known', () => {
    expect(stopReason(stopsText([{ selector: 'app=bank' }]), undefined)).toBeDefined()
  })
})
