import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { failing } from '../../../../test/live/rules-directory.ts'
import { closers } from '../../../../test/support/closers.ts'
import { judge, type Shop, startCluster, type Verdict } from '../../../../test/support/cluster.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import { decideBudget } from '../../src/kube/decide-budget.ts'

const opened = closers()
const BUDGET = '/api/v1/namespaces/squall-system/configmaps/squall-budget'

/** Decides at a time; `data` is the budget. */
function decided(data: Readonly<Record<string, string>>, at: string, namespace = 'shop') {
  return decideBudget({ data }, { namespace, now: Date.parse(at), prefix: 'squall.dev/' })
}

describe('a budget', () => {
  const until = '2026-12-27T00:00:00Z'
  test.each([
    [{}, '2026-12-24T12:00:00Z', undefined],
    [{ freeze: 'false' }, '2026-12-24T12:00:00Z', undefined],
    [{ freeze: until }, until, undefined],
    [{ 'freeze.cart': until }, '2026-12-24T12:00:00Z', undefined],
    [
      { freeze: until, by: 'sre', reason: 'Christmas' },
      '2026-12-26T23:59:59Z',
      `frozen until ${until}: Christmas; set by sre`,
    ],
    [
      { 'freeze.shop': 'true', 'by.shop': 'owner' },
      '2026-12-24T12:00:00Z',
      'frozen until freeze.shop is removed; set by owner',
    ],
  ])('%j at %s: %s', (data, at, denial) => {
    expect(decided(data, at)).toBe(denial)
  })

  // 2026-11-27 is a Friday.
  test.each([
    ['2026-11-27T09:00:00Z', undefined],
    ['2026-11-27T15:59:59Z', undefined],
    ['2026-11-27T08:59:00Z', '2026-11-27T09:00:00Z'],
    ['2026-11-27T16:00:00Z', '2026-11-28T10:00:00Z'],
    ['2026-11-28T12:00:00Z', '2026-11-30T09:00:00Z'],
  ])('with windows, at %s: closed until %s', (at, opens) => {
    const windows = 'mon-fri 09:00-16:00, sat 10:00-12:00'
    const denial = decided({ windows, by: 'sre' }, at)
    if (opens === undefined) expect(denial).toBeUndefined()
    else
      expect(denial).toBe(
        `closed until ${opens}, outside of the windows ${windows} UTC; set by sre`,
      )
  })

  test('the windows of a namespace replace those of the cluster', () => {
    const data = { windows: 'mon 09:00-10:00', 'windows.shop': 'fri 00:00-24:00' }
    expect(decided(data, '2026-11-27T09:00:00Z')).toBeUndefined()
    expect(decided(data, '2026-11-27T09:00:00Z', 'cart')).toMatch(/^closed until 2026-11-30T09/)
  })

  test.each([
    { freze: 'true' },
    { freeze: 'tomorrow' },
    { freeze: '2026-99-99T00:00:00Z' },
    { windows: 'every day' },
    { windows: 'mon 16:00-09:00' },
    { windows: Array.from({ length: 65 }, () => 'mon 00:00-24:00').join() },
  ])('that cannot be understood allows nothing: %j', (data) => {
    expect(decided(data as Record<string, string>, '2026-11-30T01:00:00Z')).toMatch(
      /^its (key|freeze|windows)/,
    )
  })
})

async function start(): Promise<{
  shop: Shop
  file: (name: string, text?: string) => Promise<string>
}> {
  const shop = opened(await startCluster('shop'))
  const file = async (name: string, text = failing(name)): Promise<string> => {
    const path = join(shop.directory, `${name}.yaml`)
    await writeFile(path, text)
    return path
  }
  return { shop, file }
}

const FROZEN = { data: { freeze: 'true', by: 'sre' } }

test('apply obeys a freeze, also with --force; stop and rules that do nothing do not ask', async () => {
  const { shop, file } = await start()
  expect(await shop.apply('-f', await file('before'))).toMatchObject({ code: 0 })
  shop.api.put(BUDGET, FROZEN)
  for (const more of [[], ['--force']]) {
    const { code, err } = await shop.apply('-f', await file('new'), ...more)
    expect(code).toBe(2)
    expect(err).toContain(
      'no new chaos in shop, by the ConfigMap squall-budget in squall-system: frozen until freeze is removed; set by sre',
    )
  }
  expect(shop.rules()['rules.yaml']).toContain(failing('before'))
  expect(await shop.apply('-f', await file('none', 'rules: []\n'))).toMatchObject({ code: 0 })
  expect(await shop.stop('-n', 'shop')).toMatchObject({ code: 0 })
})

test('an unreadable budget allows nothing where one was seen, or is required', async () => {
  const { shop, file } = await start()
  const { before } = shop.api
  const unreadable = (): void => {
    shop.api.before = (seen) => (seen.path === BUDGET ? 403 : before(seen))
  }
  unreadable()
  expect(await shop.apply('-f', await file('one'))).toMatchObject({ code: 0 })
  const required = await shop.apply('-f', await file('two'), '--require-budget')
  expect(required.err).toContain('no new chaos in shop')
  shop.api.before = before
  shop.api.put(BUDGET, { data: { freeze: 'false' } })
  expect(await shop.apply('-f', await file('three'))).toMatchObject({ code: 0 })
  unreadable()
  const seen = await shop.apply('-f', await file('four'))
  expect(seen.code).toBe(2)
  expect(seen.err).toContain('no new chaos in shop')
  expect(await shop.stop('-n', 'shop')).toMatchObject({ code: 0 })
})

test('the webhook denies new rules in a freeze, and lets a stop and a restored backup pass', async () => {
  const { shop } = await start()
  const staged = opened(
    await startSquall({
      webhook: { budget: { requireBudget: false, systemNamespace: 'squall-system' } },
      client: shop.client,
    }),
  )
  const map = (data: object): object => ({
    metadata: { name: 'squall-rules', labels: { 'squall.dev/rules': 'true' } },
    data,
  })
  const ask = (data: object, old?: object): Promise<Verdict> =>
    judge(
      staged.port,
      map(data),
      {
        resource: { group: '', version: 'v1', resource: 'configmaps' },
        namespace: 'shop',
        ...(old && { operation: 'UPDATE', oldObject: map(old) }),
      },
      '/validate-rules?timeout=5s',
    )
  const [one, two] = [failing('one'), failing('two')]
  expect(await ask({ 'rules.yaml': one })).toMatchObject({ allowed: true })
  shop.api.put(BUDGET, FROZEN)
  const denied = await ask({ 'rules.yaml': two }, { 'rules.yaml': one })
  expect(denied).toMatchObject({ allowed: false, auditAnnotations: { rules: 'denied: budget' } })
  expect(denied.status?.message).toContain('frozen until freeze is removed; set by sre')
  const stopped = { 'rules.yaml': one, 'squall-stop': '{"stops":[{}]}' }
  expect(await ask(stopped, { 'rules.yaml': one })).toMatchObject({ allowed: true })
  for (const ended of [{}, { 'squall-stop': '{"stops":[]}' }]) {
    expect(await ask({ 'rules.yaml': one, ...ended }, stopped)).toMatchObject({ allowed: false })
  }
  const invalid = { 'rules.yaml': 'rules: {' }
  expect(await ask({ ...invalid, 'squall-stop': '' }, invalid)).toMatchObject({ allowed: true })
  const backup = JSON.stringify({ text: one, existed: true })
  const running = { 'rules.yaml': two, 'squall-experiment-backup': backup }
  expect(await ask({ 'rules.yaml': one }, running)).toMatchObject({ allowed: true })
  expect(await ask({ 'rules.yaml': failing('three') }, running)).toMatchObject({ allowed: false })
})

test('resume obeys a freeze, and stop does not', async () => {
  const { shop, file } = await start()
  expect(await shop.apply('-f', await file('before'))).toMatchObject({ code: 0 })
  shop.api.put(BUDGET, FROZEN)
  expect(await shop.stop('-n', 'shop')).toMatchObject({ code: 0 })
  const { code, err } = await shop.resume('-n', 'shop')
  expect(code).toBe(2)
  expect(err).toContain('no new chaos in shop')
  shop.api.put(BUDGET, { data: { freeze: 'false' } })
  expect(await shop.resume('-n', 'shop')).toMatchObject({ code: 0 })
})
