import { expect, it } from 'vitest'
import { type Controls, keysOf, press, INITIAL_CONTROLS } from '../../src/top/controls.ts'

const AROUND = { addresses: ['a:1', 'b:2'], hasToken: true, page: 5, most: 12 }

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
  expect(keysOf('\u001b[A')).toEqual(['\u001b[A'])
  expect(keysOf('\u001b[200~dy')).toEqual([])
  expect(keysOf('\u001b')).toEqual(['\u001b'])
})

it('selects a table by tab and scrolls it, within its rows', () => {
  const DOWN = '\u001b[B'
  const UP = '\u001b[A'
  const END = '\u001b[F'
  const after = (...keys: string[]): Controls =>
    keys.reduce((controls, key) => press(key, controls, AROUND).controls, INITIAL_CONTROLS)
  expect(after(DOWN)).toMatchObject({ scroll: 0, notice: 'press tab to select a table to scroll' })
  expect(after('\t', DOWN, DOWN, UP)).toMatchObject({ table: 1, scroll: 1, notice: '' })
  expect(after('\t', END, DOWN).scroll).toBe(12)
  expect(after('\t', UP).scroll).toBe(0)
  expect(after('\t', '\u001b[6~').scroll).toBe(5)
  expect(after('\t', DOWN, '\t')).toMatchObject({ table: 2, scroll: 0 })
  expect(after('\t', '\t', '\t', '\t', '\t').table).toBe(0)
  expect(after('\t', DOWN, '\u001b')).toMatchObject({ table: 0, scroll: 0 })
})

it('goes through the orders of the tables', () => {
  const orders = [1, 2, 3, 4, 5].map((times) => pressed('s'.repeat(times)).controls.sorting)
  expect(orders).toEqual(['name', 'calls', 'errors', 'latency', 'usual'])
})
