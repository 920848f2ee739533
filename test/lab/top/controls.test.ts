import { expect, it } from 'vitest'
import { type Controls, keysOf, press, INITIAL_CONTROLS } from '../../../src/lab/top/controls.ts'

const AROUND = { addresses: ['a:1', 'b:2'], hasToken: true }

function pressed(keys: string, context = AROUND): { controls: Controls; acts: readonly unknown[] } {
  let controls = INITIAL_CONTROLS
  const acts: unknown[] = []
  for (const key of keys) {
    const result = press(key, controls, context)
    controls = result.controls
    acts.push(result.act)
  }
  return { controls, acts: acts.filter((act) => act !== undefined) }
}

it.each(['q', '\u0003', 'd\u0003', 'pq'])('%j quits', (keys) => {
  expect(pressed(keys).acts).toEqual(['quit'])
})

it('changes nothing without a yes', () => {
  expect(pressed('d').controls).toMatchObject({
    pending: 'disarm',
    notice: 'disarm all 2 sidecars? y/n',
  })
  for (const keys of ['dn', 'd ', 'dd', 'dq', 'y', 'dny', 'd1y']) {
    expect([keys, pressed(keys).acts]).toEqual([keys, []])
  }
  expect(pressed('dn').controls.notice).toBe('nothing was changed')
  expect(pressed('dy').acts).toEqual(['disarm'])
  expect(pressed('aY').acts).toEqual(['arm'])
})

it('asks about the selected sidecar', () => {
  expect(pressed('2a').controls.notice).toBe('arm b:2? y/n')
  expect(pressed('20a').controls.notice).toBe('arm all 2 sidecars? y/n')
  expect(pressed('7').controls).toMatchObject({ focus: 0, notice: 'there is no sidecar 7' })
})

it('rejects changes without a token', () => {
  const { controls, acts } = pressed('dy', { ...AROUND, hasToken: false })
  expect(acts).toEqual([])
  expect(pressed('d', { ...AROUND, hasToken: false }).controls.notice).toBe(
    'disarm: the admin token is required: set SQUALL_ADMIN_TOKEN or start with --admin-token-file',
  )
  expect(controls.pending).toBeUndefined()
})

it('does not answer a question with pasted text', () => {
  expect(keysOf('pdy')).toEqual(['p', 'd'])
  expect(keysOf('\u001b[A')).toEqual([])
  expect(keysOf('\u001b')).toEqual(['\u001b'])
})
