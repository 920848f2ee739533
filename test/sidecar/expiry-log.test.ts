import { EventEmitter, once } from 'node:events'
import { expect, it } from 'vitest'
import { ExpiryLog } from '../../src/sidecar/rules-log.ts'
import type { ActiveRules } from '../../src/rules/watch/active-rules.ts'

it('reports a rule that ends between two looks at the clock, after a timer that fired early', async () => {
  const times = [0, 9.9, 10, 10.5]
  const rules = {
    clock: () => (times.length > 1 ? times.shift()! : times[0]!),
    ruleSet: { rules: [{ name: 'brief', enabled: true, selection: { inPod: true, until: 10 } }] },
    states: { of: () => ({ since: 0 }) },
  } as unknown as ActiveRules
  const reports = new EventEmitter()
  const log = new ExpiryLog(rules, (names) => void reports.emit('expired', names))
  const reported = once(reports, 'expired')
  log.follow()
  expect(await reported).toEqual([['brief']])
  log.close()
})
