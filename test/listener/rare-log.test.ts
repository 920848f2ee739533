import { expect, test } from 'vitest'
import { RareLog } from '../../src/listener/rare-log.ts'

function stage() {
  const lines: [object, string][] = []
  const none = (): void => undefined
  const warn = (fields: object, message: string): void => void lines.push([fields, message])
  const clock = { now: 0 }
  const log = new RareLog({ debug: none, info: none, warn, error: none }, () => clock.now)
  return { log, lines, clock }
}

test('a reason is logged once a second, with the number of lines left out since', () => {
  const { log, lines, clock } = stage()
  for (let i = 0; i < 5; i++) log.warn('overload', `detail ${i}`, 'answered')
  clock.now = 999
  log.warn('overload', 'still', 'answered')
  clock.now = 1000
  log.warn('overload', 'again', 'answered')
  clock.now = 2500
  log.warn('overload', 'later', 'answered')
  expect(lines).toEqual([
    [{ reason: 'overload', detail: 'detail 0' }, 'answered'],
    [{ reason: 'overload', detail: 'again', leftOut: 5 }, 'answered'],
    [{ reason: 'overload', detail: 'later' }, 'answered'],
  ])
})

test('reasons do not wait for one another', () => {
  const { log, lines } = stage()
  log.warn('a', '', 'm')
  log.warn('b', '', 'm')
  log.warn('a', '', 'm')
  expect(lines.map(([fields]) => fields)).toEqual([
    { reason: 'a', detail: '' },
    { reason: 'b', detail: '' },
  ])
})
