// part: slow
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { failing } from '../../../../test/live/rules-directory.ts'
import { closers } from '../../../../test/support/closers.ts'
import {
  ASK,
  judge,
  patched,
  podOf,
  type Shop,
  type StagedWebhook,
  startCluster,
  type Verdict,
} from '../../../../test/support/cluster.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'
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
      expect(denial).toBe(`closed until ${opens}, outside the windows ${windows} UTC; set by sre`)
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
    { experiments: 'a few' },
    { 'experimentsPerHour.shop': '-1' },
    { above: '50%' },
    { temporaryFaults: 'yes' },
    { windows: Array.from({ length: 65 }, () => 'mon 00:00-24:00').join() },
  ])('that cannot be understood allows nothing: %j', (data) => {
    expect(decided(data as Record<string, string>, '2026-11-30T01:00:00Z')).toMatch(
      /^(?:unknown key |[a-zA-Z.]+ must be )/,
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

interface Container {
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
}

function startWebhook({ client }: Shop): Promise<StagedWebhook> {
  const budget = { requireBudget: false, systemNamespace: 'squall-system' }
  return startSquall({ webhook: { budget }, client })
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
      'the ConfigMap squall-budget in squall-system denies new chaos in shop: frozen until freeze is removed; set by sre',
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
  expect(required.err).toContain('denies new chaos in shop')
  shop.api.before = before
  shop.api.put(BUDGET, { data: { freeze: 'false' } })
  expect(await shop.apply('-f', await file('three'))).toMatchObject({ code: 0 })
  unreadable()
  const seen = await shop.apply('-f', await file('four'))
  expect(seen.code).toBe(2)
  expect(seen.err).toContain('denies new chaos in shop')
  expect(await shop.stop('-n', 'shop')).toMatchObject({ code: 0 })
})

test('the webhook denies new rules in a freeze, and lets a stop and a restored backup pass', async () => {
  const { shop } = await start()
  const staged = opened(await startWebhook(shop))
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
  const both = { 'rules.yaml': one, 'more.yaml': two }
  const none = { 'more.yaml': 'rules: []' }
  const off = { 'more.yaml': `enabled: false\n${two}` }
  const kept = { 'more.yaml': `${two}${failing('kept').replace('rules:\n', '')}` }
  expect(await ask({ ...both, ...none }, both)).toMatchObject({ allowed: true })
  expect(await ask({ ...both, ...off }, both)).toMatchObject({ allowed: true })
  expect(await ask(both, { ...both, ...kept })).toMatchObject({ allowed: true })
  expect(await ask({ ...both, ...kept }, both)).toMatchObject({ allowed: false })
  // The end of what disarmed all rules is new chaos.
  expect(await ask({ ...both, ...none }, { ...both, ...off })).toMatchObject({
    allowed: false,
  })
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

test('resume and attach allow nothing where the rules note a budget that cannot be read', async () => {
  const { shop, file } = await start()
  shop.api.put(BUDGET, { data: { freeze: 'false' } })
  expect(await shop.apply('-f', await file('one'))).toMatchObject({ code: 0 })
  expect(await shop.stop('-n', 'shop')).toMatchObject({ code: 0 })
  const { before } = shop.api
  shop.api.before = (seen) => (seen.path === BUDGET ? 403 : before(seen))
  const resumed = await shop.resume('-n', 'shop')
  expect(resumed.code).toBe(2)
  expect(resumed.err).toContain('denies new chaos in shop')
  const attach = ['attach', 'a-pod', '-n', 'shop', '-f', await file('two'), '--for', '1m']
  const flags = ['--kubeconfig', shop.kubeconfig]
  const attached = await startProgram([...attach, ...flags], {}, { here: true })
  expect(attached.code).toBe(2)
  expect(attached.stderr).toContain('denies new chaos in shop')
})

test.each<[string, () => number | Promise<number>]>([
  ['does not respond', () => new Promise(() => undefined)],
  ['is overloaded', () => 503],
])(
  'an API server that %s for the budget allows nothing where it is required',
  async (_, status) => {
    const { shop, file } = await start()
    const { before } = shop.api
    shop.api.before = (seen) => (seen.path === BUDGET ? status() : before(seen))
    const { code, err } = await shop.apply(
      '-f',
      await file('one'),
      '--require-budget',
      '--timeout',
      '2s',
    )
    expect(code).toBe(2)
    expect(err).toContain('the ConfigMap squall-budget in squall-system denies new chaos in shop: ')
    const other = await shop.apply('-f', await file('two'), '--timeout', '2s')
    expect(other).toMatchObject({ code: 0 })
  },
)

test('the webhook takes the note of a budget on a ConfigMap for an unreadable one', async () => {
  const { shop } = await start()
  const { before } = shop.api
  shop.api.before = (seen) => (seen.path === BUDGET ? 403 : before(seen))
  const staged = opened(await startWebhook(shop))
  const ask = (annotations: object): Promise<Verdict> =>
    judge(
      staged.port,
      {
        metadata: { name: 'squall-rules', labels: { 'squall.dev/rules': 'true' }, annotations },
        data: { 'rules.yaml': failing('one') },
      },
      { resource: { group: '', version: 'v1', resource: 'configmaps' }, namespace: 'shop' },
      '/validate-rules?timeout=5s',
    )
  expect(await ask({})).toMatchObject({ allowed: true })
  const denied = await ask({ 'squall.dev/budget': 'seen' })
  expect(denied).toMatchObject({ allowed: false })
  expect(denied.status?.message).toContain('denies new chaos in shop')
})

test.each([
  [undefined, undefined],
  [{ 'temporaryFaults.shop': 'true' }, undefined],
  [{ temporaryFaults: 'true', freezze: 'true' }, 'unknown key freezze'],
  [
    { temporaryFaults: 'true', experiments: 'two' },
    'experiments must be a number such as 2; got "two"',
  ],
  [{ temporaryFaults: 'true', 'temporaryFaults.shop': 'false' }, 'temporaryFaults.shop was true'],
  [{ by: 'sre $(POD_IP)' }, 'temporaryFaults was true when their pod was created; set by sre $$('],
])('with the budget %j, a new pod takes temporary faults unless: %s', async (data, why) => {
  const { shop } = await start()
  if (data !== undefined) shop.api.put(BUDGET, { data })
  const staged = opened(await startWebhook(shop))
  const verdict = await judge(staged.port, podOf(ASK), { namespace: 'shop' })
  expect(verdict.allowed).toBe(true)
  const { spec } = patched(podOf(ASK), verdict.patch!) as { spec: { initContainers: Container[] } }
  const env = spec.initContainers.flatMap((each) => each.env ?? [])
  const denial = env.find(({ name }) => name === 'SQUALL_DENY_TEMPORARY_FAULTS')?.value
  if (why === undefined) expect(denial).toBeUndefined()
  else expect(denial).toContain(why)
})

test('resume obeys a freeze, and stop does not', async () => {
  const { shop, file } = await start()
  expect(await shop.apply('-f', await file('before'))).toMatchObject({ code: 0 })
  shop.api.put(BUDGET, FROZEN)
  expect(await shop.stop('-n', 'shop')).toMatchObject({ code: 0 })
  const { code, err } = await shop.resume('-n', 'shop')
  expect(code).toBe(2)
  expect(err).toContain('denies new chaos in shop')
  shop.api.put(BUDGET, { data: { freeze: 'false' } })
  expect(await shop.resume('-n', 'shop')).toMatchObject({ code: 0 })
})
