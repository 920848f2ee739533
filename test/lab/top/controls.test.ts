import { expect, it } from 'vitest'
import { type Controls, keysOf, press, UNTOUCHED } from '../../../src/lab/top/controls.ts'

const AROUND = { addresses: ['a:1', 'b:2'], hasToken: true }

function pressed(keys: string, around = AROUND): { controls: Controls; acts: readonly unknown[] } {
  let controls = UNTOUCHED
  const acts: unknown[] = []
  for (const key of keys) {
    const result = press(key, controls, around)
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
    asked: 'disarm',
    notice: 'disarm all 2 sidecars? y/n',
  })
  for (const keys of ['dn', 'd ', 'dd', 'dq', 'y', 'dny', 'd1y']) {
    expect([keys, pressed(keys).acts]).toEqual([keys, []])
  }
  expect(pressed('dn').controls.notice).toBe('nothing was changed')
  expect(pressed('dy').acts).toEqual(['disarm'])
  expect(pressed('aY').acts).toEqual(['arm'])
})

it('asks about the sidecar that is looked at', () => {
  expect(pressed('2a').controls.notice).toBe('arm b:2? y/n')
  expect(pressed('20a').controls.notice).toBe('arm all 2 sidecars? y/n')
  expect(pressed('7').controls).toMatchObject({ focus: 0, notice: 'there is no sidecar 7' })
})

it('refuses changes clearly where there is no token', () => {
  const { controls, acts } = pressed('dy', { ...AROUND, hasToken: false })
  expect(acts).toEqual([])
  expect(pressed('d', { ...AROUND, hasToken: false }).controls.notice).toBe(
    'disarm: not without the admin token: set SQUALL_ADMIN_TOKEN or start with --admin-token-file',
  )
  expect(controls.asked).toBeUndefined()
})

it('lets nothing that was pasted response a question', () => {
  expect(keysOf('pdy')).toEqual(['p', 'd'])
  expect(keysOf('\u001b[A')).toEqual([])
  expect(keysOf('\u001b')).toEqual(['\u001b'])
})
