// part: slow
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failing } from '../../../../test/live/rules-directory.ts'
import { closers } from '../../../../test/support/closers.ts'
import { type Seen, type Shop, startCluster } from '../../../../test/support/cluster.ts'

const opened = closers()
const PATH = '/api/v1/namespaces/shop/configmaps/squall-rules'

async function start(): Promise<{ shop: Shop; file: (rule: string) => Promise<string> }> {
  const shop = opened(await startCluster('shop'))
  const file = async (rule: string): Promise<string> => {
    const path = join(shop.directory, `${rule}.yaml`)
    await writeFile(path, failing(rule))
    return path
  }
  return { shop, file }
}

/** Runs something before the API server handles a request that is selected, once. */
function once(shop: Shop, isIt: (seen: Seen) => boolean, run: (seen: Seen) => unknown): void {
  const { before } = shop.api
  let isDone = false
  shop.api.before = async (seen) => {
    if (!isDone && isIt(seen)) {
      isDone = true
      await run(seen)
    }
    return before(seen)
  }
}

/** Holds the first writes of the ConfigMap until `count` of them have arrived. */
function together(shop: Shop, count: number): void {
  const { before } = shop.api
  let arrived = 0
  let open: () => void = () => undefined
  const all = new Promise<void>((resolve) => (open = resolve))
  shop.api.before = async (seen) => {
    const isWrite = seen.method !== 'GET' && seen.path.includes('/configmaps')
    if (isWrite && arrived < count && ++arrived === count) open()
    if (isWrite) await all
    return before(seen)
  }
}

const isPatch = ({ method, path }: Seen): boolean => method === 'PATCH' && path === PATH

test.each(['created', 'changed'])(
  'of two people who apply at once, the second learns who was first: %s',
  async (change) => {
    const { shop, file } = await start()
    if (change === 'changed') await shop.apply('-f', await file('zero'))
    together(shop, 2)
    const [one, two] = await Promise.all([
      shop.apply('-f', await file('one')),
      shop.apply('-f', await file('two')),
    ])
    expect(one.code + two.code).toBe(1)
    const [first, second] = one.code === 0 ? [one, two] : [two, one]
    expect(first.err).toContain(`configmap squall-rules in shop: ${change}\n`)
    expect(second.err).toContain(
      'the key rules.yaml of the ConfigMap squall-rules changed while the command was running, by tester; no rules were applied',
    )
    expect(shop.rules()['rules.yaml']).toContain(first === one ? 'name: one' : 'name: two')
  },
)

test('two people who apply different keys at once lose nothing', async () => {
  const { shop, file } = await start()
  await shop.apply('-f', await file('zero'))
  together(shop, 2)
  const both = await Promise.all([
    shop.apply('-f', await file('one'), '--key', 'one.yaml'),
    shop.apply('-f', await file('two'), '--key', 'two.yaml'),
  ])
  expect(both.map(({ code }) => code)).toEqual([0, 0])
  expect(Object.keys(shop.rules()).sort()).toEqual(['one.yaml', 'rules.yaml', 'two.yaml'])
})

test('apply confirms rules beside another key that changes while it waits', async () => {
  const { shop, file } = await start()
  const pods = ['shop-1', 'shop-2']
  for (const name of pods) await shop.addPod(name)
  const isTouch = (seen: Seen): boolean => seen.method === 'PATCH' && seen.path.endsWith('shop-1')
  once(shop, isTouch, async () => {
    const found = shop.api.store.get(PATH)!
    shop.api.put(PATH, { ...found, data: { ...shop.rules(), 'more.yaml': failing('two') } })
    for (const name of pods) {
      const pod = JSON.stringify(shop.api.store.get(`/api/v1/namespaces/shop/pods/${name}`))
      const [, directory = ''] = /"--rules","([^"]+)"/.exec(pod) ?? []
      await writeFile(join(directory, 'more.yaml'), failing('two'))
    }
  })
  const { code, out } = await shop.apply('-f', await file('one'), '--timeout', '10s')
  expect(out).toContain('in 2 of 2 pods')
  expect(code).toBe(0)
})

test('rules that replace others name who wrote those, and when', async () => {
  const { shop, file } = await start()
  shop.api.put(PATH, {
    metadata: {
      annotations: { 'squall.dev/applied-by': 'alice' },
      managedFields: [
        {
          manager: 'kubectl-edit',
          time: '2026-05-01T09:00:00Z',
          fieldsV1: { 'f:data': { 'f:rules.yaml': {} } },
        },
      ],
    },
    data: { 'rules.yaml': failing('old') },
  })
  const { err } = await shop.apply('-f', await file('new'))
  expect(err).toContain('replaces the rules old, by kubectl-edit at 2026-05-01T09:00:00Z; to keep')
})

test('a write whose response was lost counts as done when it is repeated', async () => {
  const { shop, file } = await start()
  await shop.apply('-f', await file('zero'))
  once(shop, isPatch, ({ body }) => shop.api.put(PATH, { data: body['data'] }))
  expect(await shop.apply('-f', await file('one'))).toMatchObject({ code: 0 })
})

test('a stop wins over an apply and over a resume at the same time', async () => {
  const { shop, file } = await start()
  const squall = await shop.addPod('shop-1')
  await shop.apply('-f', await file('zero'))
  once(shop, isPatch, () => shop.stop('-n', 'shop'))
  const applied = await shop.apply('-f', await file('one'))
  expect(applied).toMatchObject({ code: 0 })
  expect(applied.err).toContain('shop is stopped: no rule acts until')
  expect(await shop.ask(squall)).toContain('fine')
  // A second person stops while the first resumes.
  once(shop, isPatch, () => shop.stop('-n', 'shop'))
  const resumed = await shop.resume('-n', 'shop', '--timeout', '1s')
  expect(resumed.code).toBe(1)
  expect(resumed.out).toMatch(/not resumed: tester stopped them at \d{4}-\S+Z, after this command/)
  expect(await shop.ask(squall)).toContain('fine')
})

test('apply and resume respect the claim of an experiment, and --force overrides', async () => {
  const { shop, file } = await start()
  const claim = (until: number): void => {
    const text = { id: 'e-1', by: 'alice', until: new Date(until).toISOString() }
    const more = { key: 'rules.yaml', digest: 'x' }
    shop.api.put(PATH, {
      metadata: { annotations: { 'squall.dev/experiment': JSON.stringify({ ...text, ...more }) } },
      data: { 'rules.yaml': failing('old'), 'squall-stop': '{"stops":[{}]}' },
    })
  }
  claim(Date.now() + 60_000)
  const says = /the experiment e-1 of alice has claimed the ConfigMap until \d{4}-.*--force/
  const refused = await shop.apply('-f', await file('new'))
  expect(refused.code).toBe(2)
  expect(refused.err).toMatch(says)
  const resumed = await shop.resume('-n', 'shop')
  expect(resumed.code).toBe(1)
  expect(resumed.out).toMatch(says)
  expect(shop.rules()).toMatchObject({
    'rules.yaml': failing('old'),
    'squall-stop': '{"stops":[{}]}',
  })
  const empty = join(shop.directory, 'empty.yaml')
  await writeFile(empty, 'rules: []\n')
  expect(await shop.apply('-f', empty)).toMatchObject({ code: 0 })
  expect(await shop.resume('-n', 'shop', '--force')).toMatchObject({ code: 0 })
  expect(await shop.apply('-f', await file('new'), '--force')).toMatchObject({ code: 0 })
  claim(Date.now() - 60_000)
  expect(await shop.apply('-f', await file('new'))).toMatchObject({ code: 0 })
})

test('rules without an end replace rules with one only by --for or --force', async () => {
  const { shop, file } = await start()
  // A duration of each rule is no end of the file.
  shop.api.put(PATH, { data: { 'rules.yaml': `${failing('own')}    for: 30m\n` } })
  expect(await shop.apply('-f', await file('new'))).toMatchObject({ code: 0 })
  await shop.apply('-f', await file('old'), '--for', '15m')
  const before = shop.rules()['rules.yaml']
  const refused = await shop.apply('-f', await file('new'))
  expect(refused.code).toBe(2)
  expect(refused.err).toContain(
    'the rules in rules.yaml, by tester, expire, but the new rules do not; limit the rules with --for 15m, or use --force',
  )
  expect(shop.rules()['rules.yaml']).toBe(before)
  expect(await shop.apply('-f', await file('new'), '--dry-run')).toMatchObject({ code: 0 })
  expect(await shop.apply('-f', await file('new'), '--for', '5m')).toMatchObject({ code: 0 })
  expect(await shop.apply('-f', await file('new'), '--force')).toMatchObject({ code: 0 })
  expect(shop.rules()['rules.yaml']).not.toContain('until')
})
