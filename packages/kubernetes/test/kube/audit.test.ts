import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { failing } from '../../../../test/live/rules-directory.ts'
import { type Shop, startCluster } from '../../../../test/support/cluster.ts'

// Events said who applied rules, and neither when these end nor who ended them.
const opened = closers()

interface Recorded {
  readonly reason: string
  readonly message: string
}

async function recorded(shop: Shop, rules: string, ...args: readonly string[]): Promise<Recorded> {
  const file = join(shop.directory, 'rules.yaml')
  await writeFile(file, rules)
  const { code, err } = await shop.apply('-f', file, '--no-wait', ...args)
  expect(code, err).toBe(0)
  const events = [...shop.api.store].filter(([path]) => path.includes('/events/'))
  return events.at(-1)![1] as unknown as Recorded
}

test('the event of squall apply names the rules and when each of them ends', async () => {
  const shop = opened(await startCluster('shop'))
  const anHour = { earliest: Date.now() + 3_590_000, latest: Date.now() + 3_660_000 }
  const brief = failing('brief', 'pay').replace('    faults', '    for: 1h\n    faults')
  const rules = `${brief}${failing('lasting', 'buy').replace('rules:\n', '')}`
  const { reason, message } = await recorded(shop, rules)
  expect(reason).toBe('SquallApplied')
  const [, ends = ''] = /by tester: brief ends (\S+Z), lasting has no end$/.exec(message) ?? []
  expect(Date.parse(ends)).toBeGreaterThan(anHour.earliest)
  expect(Date.parse(ends)).toBeLessThan(anHour.latest)
  const all = await recorded(shop, rules, '--for', '30m')
  expect(all.message).toMatch(/brief ends \S+Z, lasting ends \S+Z$/)
})

test('the event of squall apply says who ended rules', async () => {
  const shop = opened(await startCluster('shop'))
  await recorded(shop, failing('first', 'pay'))
  expect(await recorded(shop, `enabled: false\n${failing('first', 'pay')}`)).toMatchObject({
    reason: 'SquallDisarmed',
    message: 'squall apply ended the rules in rules.yaml by tester: none of them can act',
  })
})

test('the message of an event is bounded, however many rules there are', async () => {
  const shop = opened(await startCluster('shop'))
  const rules = Array.from({ length: 40 }, (_, i) =>
    failing(`${'long-'.repeat(11)}${i}`, 'pay').replace('rules:\n', ''),
  )
  const { message } = await recorded(shop, `rules:\n${rules.join('')}`)
  expect(message).toMatch(/^.{1,1024}$/)
  expect(message).toContain('long-0 has no end')
})
