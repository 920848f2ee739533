// part: slow
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { API, type State } from '../../../../src/admin/contract/api.ts'
import { failing } from '../../../../test/live/rules-directory.ts'
import { closers } from '../../../../test/support/closers.ts'
import { type Shop, startCluster } from '../../../../test/support/cluster.ts'
import { CONFIG_MAPS, metadataOf } from '../../src/kube/resources.ts'

const opened = closers()
const PATH = '/api/v1/namespaces/shop/configmaps/squall-rules'
const REF = { kind: CONFIG_MAPS, namespace: 'shop', name: 'squall-rules' }

function observed(shop: Shop, prefix = 'squall.dev/'): unknown {
  const text = metadataOf(shop.api.store.get(PATH) ?? {}).annotations[`${prefix}observed`]
  return text === undefined ? undefined : JSON.parse(text)
}

async function rulesFile(shop: Shop, name: string): Promise<string> {
  const file = join(shop.directory, 'rules.yaml')
  await writeFile(file, failing(name))
  return file
}

test('apply, stop and resume annotate the ConfigMap with what the sidecars confirmed', async () => {
  const shop = opened(await startCluster('shop'))
  const squall = await shop.addPod('shop-1')
  await shop.addPod('shop-2')
  await shop.apply('-f', await rulesFile(shop, 'first'))
  const time = /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/
  const common = { ok: true, pods: 2, confirmed: 2, time: expect.stringMatching(time) as string }
  // That of the first pod: here each pod reads the rules in another directory.
  const state = (await (await fetch(`${squall.admin}${API.state.path}`)).json()) as State
  const { digest } = state.rules
  expect(observed(shop)).toEqual({ ...common, digest, state: 'applied' })
  await shop.stop('-n', 'shop')
  expect(observed(shop)).toEqual({ ...common, digest, state: 'stopped' })
  await shop.resume('-n', 'shop')
  expect(observed(shop)).toEqual({ ...common, digest, state: 'resumed' })
  const patch = shop.api.seen.findLast(({ path, method }) => method === 'PATCH' && path === PATH)
  expect(patch?.query.get('fieldManager')).toBe('squall-observed')
})

test('sidecars that do not confirm are counted, under the prefix of the injector', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  await shop.addPod('shop-2', { isDeaf: true })
  const file = await rulesFile(shop, 'first')
  await shop.apply('-f', file, '--timeout', '2s')
  expect(observed(shop)).toMatchObject({ ok: false, pods: 2, confirmed: 1 })
  await shop.apply('-f', file, '--timeout', '2s', '--min', '50%')
  expect(observed(shop)).toMatchObject({ ok: true, pods: 2, confirmed: 1 })
  await shop.stop('-n', 'shop', '--annotation-prefix', 'faults.example.com/', '--timeout', '2s')
  expect(observed(shop, 'faults.example.com/')).toMatchObject({ state: 'stopped' })
})

test('a dry run, and rules that nobody waits for, leave the annotation as it is', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  const file = await rulesFile(shop, 'first')
  await shop.apply('-f', file, '--no-wait')
  await shop.apply('-f', file, '--dry-run')
  await shop.stop('-n', 'shop', '--dry-run')
  expect(observed(shop)).toBeUndefined()
})

test('a stop whose pods are unknown leaves the annotation as it is', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  shop.api.before = chained(shop, ({ method, path }) =>
    method === 'GET' && path.endsWith('/pods') ? 403 : undefined,
  )
  const { err } = await shop.stop('-n', 'shop', '--timeout', '2s')
  expect(err).toContain('the pods with a sidecar are unknown')
  expect(shop.rules()).toHaveProperty('squall-stop')
  expect(observed(shop)).toBeUndefined()
})

test('a command whose annotation is denied succeeds, with a warning', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  shop.api.before = chained(shop, ({ query }) =>
    query.get('fieldManager') === 'squall-observed' ? 403 : undefined,
  )
  const warning =
    'warning: the confirmations of the sidecars were not recorded: cannot annotate configmaps'
  const applied = await shop.apply('-f', await rulesFile(shop, 'first'))
  expect(applied).toMatchObject({ code: 0, err: expect.stringContaining(warning) as string })
  const stopped = await shop.stop('-n', 'shop')
  expect(stopped).toMatchObject({ code: 0, err: expect.stringContaining(warning) as string })
})

test('a stop by a role that may not read the ConfigMap records nothing, without a warning', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  shop.api.before = chained(shop, ({ method, path }) =>
    method === 'GET' && path === PATH ? 403 : undefined,
  )
  const { code, err } = await shop.stop('-n', 'shop')
  expect(code).toBe(0)
  expect(err).not.toContain('warning')
  expect(observed(shop)).toBeUndefined()
})

/** What Git has, and what of the ConfigMap the tool does not compare. */
interface Desired {
  readonly data: Readonly<Record<string, string>>
  readonly ignored: RegExp
}

/**
 * Reverts the ConfigMap to Git for as long as it runs, as Argo CD does with selfHeal and
 * Replace=true: all data and annotations that it compares.
 */
function selfHeal(shop: Shop, { data, ignored }: Desired) {
  const run = { isOver: false, reverts: 0 }
  const compared = (fields: Readonly<Record<string, string>>): string =>
    JSON.stringify(Object.entries(fields).filter(([key]) => !ignored.test(key)))
  const reconcile = async (): Promise<void> => {
    const live = await shop.client.get(REF)
    const liveData = (live['data'] ?? {}) as Record<string, string>
    const { annotations, resourceVersion } = metadataOf(live)
    if (compared(liveData) === compared(data) && compared(annotations) === '[]') return
    const keep = (fields: Readonly<Record<string, string>>): Record<string, string> =>
      Object.fromEntries(Object.entries(fields).filter(([key]) => ignored.test(key)))
    const metadata = { name: REF.name, resourceVersion, annotations: keep(annotations) }
    await shop.client.replace(REF, { metadata, data: { ...keep(liveData), ...data } }).then(
      () => (run.reverts += 1),
      () => undefined,
    )
  }
  const loop = (async () => {
    while (!run.isOver) {
      await reconcile()
      await turn()
    }
    await reconcile()
  })()
  return {
    /** Returns how often it reverted the ConfigMap. */
    end: async () => {
      run.isOver = true
      await loop
      return run.reverts
    },
  }
}

/** Keeps what the cluster does before each request. */
function chained(shop: Shop, more: Shop['api']['before']): Shop['api']['before'] {
  const { before } = shop.api
  return async (seen) => (await more(seen)) ?? before(seen)
}

test('a stop of labelled pods that a tool replaces by another one is reported', async () => {
  const shop = opened(await startCluster('shop'))
  const other = '{"stops":[{"selector":"app=other"}]}'
  const data = { 'rules.yaml': 'rules: []', 'squall-stop': other }
  shop.api.put(PATH, { metadata: { name: REF.name }, data })
  shop.api.before = chained(shop, async ({ query }) => {
    if (query.get('fieldManager') !== 'squall-observed') return undefined
    while (shop.rules()['squall-stop'] !== other) await turn()
    return undefined
  })
  const tool = selfHeal(shop, { data, ignored: /^$/ })
  const { code, out } = await shop.stop('-n', 'shop', '-l', 'app=shop')
  expect(out).toContain('reverted by another program')
  expect(code).toBe(1)
  await tool.end()
  expect(observed(shop)).toBeUndefined()
})

test('a tool that removes the stop is reported, nothing is written again, and sidecars stay stopped', async () => {
  const shop = opened(await startCluster('shop'))
  const squall = await shop.addPod('shop-1')
  await shop.apply('-f', await rulesFile(shop, 'first'))
  const data = { ...shop.rules() }
  shop.api.put(PATH, { metadata: { name: REF.name }, data })
  // The kubelet delivers the key before the tool removes it.
  let isDelivered = (): void => undefined
  const delivered = new Promise<void>((resolve) => {
    isDelivered = resolve
  })
  shop.api.before = chained(shop, async ({ method, path, query }) => {
    if (method === 'PUT' && path === PATH) await delivered
    // The tool is faster than the last write of the command.
    if (query.get('fieldManager') !== 'squall-observed') return undefined
    while (shop.rules()['squall-stop'] !== undefined) await turn()
    return undefined
  })
  const tool = selfHeal(shop, { data, ignored: /^$/ })
  const stopping = shop.stop('-n', 'shop')
  await expect.poll(() => shop.ask(squall), { timeout: 20_000 }).toContain('fine')
  isDelivered()
  const { code, out, err } = await stopping
  expect(code).toBe(1)
  expect(out).toContain(
    'configmap squall-rules in shop: reverted by another program; new pods apply that change, and running pods may apply it too\nstopped: confirmed by 1 of 1 pods\n',
  )
  expect(err).toContain(
    'warning: after this command, squall-stop of the ConfigMap squall-rules in shop was removed; if a GitOps tool reverts changes, write squall-stop into Git, or suspend the sync\n',
  )
  expect(await tool.end()).toBe(1)
  expect(shop.rules()).toEqual(data)
  expect(observed(shop)).toBeUndefined()
  expect(await shop.ask(squall)).toContain('fine')
  expect((await shop.status()).out).toContain('stopped')
})

test('a tool that ignores the key and the annotation reverts rules alone', async () => {
  const shop = opened(await startCluster('shop'))
  const squall = await shop.addPod('shop-1')
  await shop.apply('-f', await rulesFile(shop, 'first'))
  const data = { ...shop.rules() }
  const tool = selfHeal(shop, { data, ignored: /^squall-stop$|^squall\.dev\// })
  expect(await shop.stop('-n', 'shop')).toMatchObject({ code: 0 })
  expect(observed(shop)).toMatchObject({ state: 'stopped', ok: true })
  expect(await shop.resume('-n', 'shop')).toMatchObject({ code: 0 })
  expect(await tool.end()).toBe(0)
  expect(shop.rules()).toEqual({ ...data, 'squall-stop': '{"stops":[]}\n' })
  expect(observed(shop)).toMatchObject({ state: 'resumed', ok: true })
  expect(await shop.ask(squall)).toContain('first')
})

/** Has another program write the ConfigMap before the command looks at it for the last time. */
function writtenInBetween(shop: Shop, method: 'GET' | 'PATCH', data: object): void {
  let isWritten = false
  let isDone = false
  shop.api.before = chained(shop, (seen) => {
    if (seen.path !== PATH || isDone) return undefined
    const isLast = seen.query.get('fieldManager') === 'squall-observed'
    if (method === 'PATCH' ? isLast : isWritten && seen.method === 'GET') {
      isDone = true
      const managedFields = [
        {
          manager: 'kustomize-controller',
          operation: 'Apply',
          time: '2026-05-01T09:00:00Z',
          fieldsV1: { 'f:data': { 'f:rules.yaml': {} } },
        },
      ]
      const metadata = { name: REF.name, managedFields }
      shop.api.put(PATH, { metadata, data: { ...shop.rules(), ...data } })
    }
    isWritten ||= seen.method === 'PATCH'
    return undefined
  })
}

test.each(['GET', 'PATCH'] as const)(
  'rules that are reverted before the last %s of apply are a failure, and are not observed',
  async (method) => {
    const shop = opened(await startCluster('shop'))
    await shop.addPod('shop-1')
    await shop.apply('-f', await rulesFile(shop, 'of-git'))
    const before = observed(shop)
    writtenInBetween(shop, method, shop.rules())
    const file = await rulesFile(shop, 'mine')
    const { code, out, err } = await shop.apply('-f', file)
    expect(code).toBe(1)
    expect(out).toBe('rules loaded in 1 of 1 pods\n')
    expect(err).toContain(
      'warning: after this command, rules.yaml of the ConfigMap squall-rules in shop was changed, by kustomize-controller at 2026-05-01T09:00:00Z; if a GitOps tool reverts changes, write rules.yaml into Git, or suspend the sync\n',
    )
    expect(before).toMatchObject({ state: 'applied' })
    expect(observed(shop)).toBeUndefined()
  },
)

test('a change of another key meanwhile is read before the confirmation is recorded', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  writtenInBetween(shop, 'PATCH', { notes: 'of another program' })
  const { code, err } = await shop.apply('-f', await rulesFile(shop, 'first'))
  expect(err).not.toContain('warning')
  expect(code).toBe(0)
  expect(observed(shop)).toMatchObject({ state: 'applied', ok: true })
  expect(shop.rules()).toHaveProperty('notes')
})

test('content that no sidecar has confirmed is not recorded', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  writtenInBetween(shop, 'PATCH', { 'more.yaml': failing('second') })
  expect(await shop.apply('-f', await rulesFile(shop, 'first'))).toMatchObject({ code: 0 })
  expect(shop.rules()).toHaveProperty('more.yaml')
  expect(observed(shop)).toBeUndefined()
})

test('a resume that a tool undoes is reported', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  await shop.apply('-f', await rulesFile(shop, 'first'))
  await shop.stop('-n', 'shop')
  writtenInBetween(shop, 'PATCH', shop.rules())
  const { code, out, err } = await shop.resume('-n', 'shop', '--json')
  expect(code).toBe(1)
  const { ok, configMaps, warnings } = JSON.parse(out) as Record<string, unknown>
  expect({ ok, configMaps }).toEqual({
    ok: false,
    configMaps: [{ namespace: 'shop', name: 'squall-rules', change: 'reverted' }],
  })
  expect(warnings).toEqual([
    expect.stringMatching(/^after this command, squall-stop .* was changed/),
  ])
  expect(err).toBe('')
})
