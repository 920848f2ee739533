import { expect, it } from 'vitest'
import { sparkline } from '../../../src/lab/top/figures.ts'
import { readSnapshot } from '../../../src/lab/top/read-snapshot.ts'
import { SidecarWatch } from '../../../src/lab/top/sidecar-view.ts'
import { event, tool, type Told } from './boards.ts'

function watched() {
  const watch = new SidecarWatch({ host: '::1', port: 15390 })
  return {
    watch,
    hear: (second: number, told: Told, heardAt = second * 1_000): void =>
      watch.hear(readSnapshot(event(second, told)), heardAt),
  }
}

it('knows rates from the second snapshot on', () => {
  const { watch, hear } = watched()
  expect(watch.view).toMatchObject({ address: '[::1]:15390', link: 'connecting' })
  hear(0, { tools: [tool('a', [5, 5])] })
  expect(watch.view.rates).toBeUndefined()
  hear(2, { tools: [tool('a', [9, 6], 2), tool('new', [0, 4])] })
  expect(watch.view.rates).toMatchObject({ calls: 55.5, injected: 2.5, real: 2, squall: 1 })
  expect(watch.view.rates!.tools.get('a')).toMatchObject({ injected: 0.5, real: 2 })
})

it('takes its own clock where that of the sidecar was set', () => {
  const { watch, hear } = watched()
  hear(0, { tools: [tool('a', [0, 0])] }, 0)
  hear(3_600, { tools: [tool('a', [4, 0])] }, 1_000)
  expect(watch.view.rates).toMatchObject({ real: 4 })
  hear(10, { tools: [tool('a', [6, 0])] }, 2_000)
  expect(watch.view.rates).toMatchObject({ real: 2 })
})

it('knows no rate across a restart or a loss', () => {
  const { watch, hear } = watched()
  hear(0, { tools: [tool('a', [5, 5]), tool('b', [1, 1])] })
  hear(1, { tools: [tool('a', [5, 4]), tool('b', [1, 1])] })
  expect(watch.view.rates).toBeUndefined()
  hear(2, { tools: [tool('a', [5, 4])] })
  expect(watch.view.rates).toBeUndefined()
  hear(3, { tools: [tool('a', [5, 5])] })
  expect(watch.view.rates).toMatchObject({ injected: 1 })
  watch.lose('gone')
  expect(watch.view).toMatchObject({ link: 'lost', problem: 'gone', rates: undefined })
  hear(60, { tools: [tool('a', [99, 99])] })
  expect(watch.view).toMatchObject({ link: 'live', problem: '', rates: undefined })
})

it('draws both kinds of errors on one scale, with gaps where nothing was heard', () => {
  const rates = (injected: number, real: number) => ({ calls: 0, injected, real, squall: 0 })
  const trend = [rates(9, 9), rates(0, 8), undefined, rates(4, 0.1), rates(1, 0)]
  expect(sparkline(trend, 'injected', 4)).toBe('▁ ▄▂')
  expect(sparkline(trend, 'real', 4)).toBe('█ ▂▁')
  expect(sparkline([], 'real', 3)).toBe('   ')
})
