import { expect, it } from 'vitest'
import { sparkline } from '../../src/top/figures.ts'
import { readSnapshot } from '../../src/top/read-snapshot.ts'
import { SidecarWatch } from '../../src/top/sidecar-view.ts'
import { event, tool, type Told } from './boards.ts'

function watched() {
  const watch = new SidecarWatch({ host: '::1', port: 15390 })
  return {
    watch,
    update: (second: number, told: Told, heardAt = second * 1_000): void =>
      watch.update(readSnapshot(event(second, told)), heardAt),
  }
}

it('computes rates from the second snapshot on', () => {
  const { watch, update } = watched()
  expect(watch.view).toMatchObject({ address: '[::1]:15390', link: 'connecting' })
  update(0, { tools: [tool('a', [5, 5])] })
  expect(watch.view.rates).toBeUndefined()
  update(2, { tools: [tool('a', [9, 6], 2), tool('new', [0, 4])] })
  expect(watch.view.rates).toMatchObject({ calls: 55.5, injected: 2.5, real: 2, squall: 1 })
  expect(watch.view.rates!.tools.get('a')).toMatchObject({ injected: 0.5, real: 2 })
})

it('uses the local clock when that of the sidecar was adjusted', () => {
  const { watch, update } = watched()
  update(0, { tools: [tool('a', [0, 0])] }, 0)
  update(3_600, { tools: [tool('a', [4, 0])] }, 1_000)
  expect(watch.view.rates).toMatchObject({ real: 4 })
  update(10, { tools: [tool('a', [6, 0])] }, 2_000)
  expect(watch.view.rates).toMatchObject({ real: 2 })
})

it('computes no rate across a restart or a lost connection', () => {
  const { watch, update } = watched()
  update(0, { tools: [tool('a', [5, 5]), tool('b', [1, 1])] })
  update(1, { tools: [tool('a', [5, 4]), tool('b', [1, 1])] })
  expect(watch.view.rates).toBeUndefined()
  update(2, { tools: [tool('a', [5, 4])] })
  expect(watch.view.rates).toBeUndefined()
  update(3, { tools: [tool('a', [5, 5])] })
  expect(watch.view.rates).toMatchObject({ injected: 1 })
  watch.setLost('gone')
  expect(watch.view).toMatchObject({ link: 'lost', problem: 'gone', rates: undefined })
  update(60, { tools: [tool('a', [99, 99])] })
  expect(watch.view).toMatchObject({ link: 'live', problem: '', rates: undefined })
})

it('draws both kinds of errors on one scale, with gaps where no snapshot arrived', () => {
  const rates = (injected: number, real: number) => ({ calls: 0, injected, real, squall: 0 })
  const trend = [rates(9, 9), rates(0, 8), undefined, rates(4, 0.1), rates(1, 0)]
  expect(sparkline(trend, 'injected', 4)).toBe('▁ ▄▂')
  expect(sparkline(trend, 'real', 4)).toBe('█ ▂▁')
  expect(sparkline([], 'real', 3)).toBe('   ')
})
