import { expect, it } from 'vitest'
import type { Rules } from '../../src/admin/contract/api.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

const opened = closers()

const rules = (enabled: boolean): string =>
  `rules:
  - name: held
    enabled: ${enabled}
    match: { tool: probe, headers: { x-wait: 'yes' } }
    for: 1h
    faults: [delay: { fixed: 5m }]
  - name: broken
    enabled: ${enabled}
    match: { tool: probe }
    faults: [abort: { toolError: broken }]
`

async function shown({ squall }: RuledSquall): Promise<Rules> {
  return (await (await fetch(`${squall.admin}/api/rules`)).json()) as Rules
}

it('a disabled rule injects nothing and counts nothing, and a reload enables and disables it', async () => {
  const pod = opened(await startSquall({ rules: rules(false) }))
  const becomes = (wanted: string): Promise<void> =>
    eventually(async () => {
      const now = await pod.text()
      return now === wanted ? undefined : `responds ${now}`
    })
  expect(await pod.text('other', { 'x-wait': 'yes' })).toBe('fine')
  expect(await pod.text()).toBe('fine')
  const { count, rules: disabled } = await shown(pod)
  expect(count).toBe(2)
  for (const { phase, sampled, counts } of disabled) {
    expect({ phase, sampled }).toEqual({ phase: 'disabled', sampled: 0 })
    expect(Object.values(counts).every((each) => each === 0)).toBe(true)
  }
  const matches = (): Promise<number> =>
    pod.squall.metric('squall_rule_matches_total', { rule: 'broken' })
  const scraped = await (await fetch(`${pod.squall.admin}/metrics`)).text()
  expect(scraped).toContain('squall_rules_info')
  expect(scraped).not.toContain('rule="broken"')
  expect(await pod.squall.metric('squall_rules_unanchored')).toBe(0)

  await pod.mounted.swap(rules(true))
  await becomes('broken')
  expect(await matches()).toBeGreaterThan(0)
  expect((await shown(pod)).rules.map(({ phase }) => phase)).toEqual(['on', 'on'])
  const waiting = pod.text('probe', { 'x-wait': 'yes' })
  await pod.squall.reaches('squall_active_faults', { rule: 'held' }, 1)

  // The delayed call is freed.
  await pod.mounted.swap(rules(false))
  expect(await waiting).toBe('fine')
  const before = await matches()
  expect(await pod.text()).toBe('fine')
  expect((await shown(pod)).rules.map(({ phase }) => phase)).toEqual(['disabled', 'disabled'])
  expect(await matches()).toBe(before)
})
