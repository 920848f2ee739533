// part: slow
import { afterEach, beforeEach, expect, test } from 'vitest'
import { restoreRules } from '../../src/operations/restore.ts'
import { RejectedError } from '../../src/experiment/rejection.ts'
import { asked } from '../../../../test/support/commands/command-line.ts'
import { failing } from '../../../../test/live/rules-directory.ts'
import { mergePatch, type Seen } from '../../../../test/support/cluster.ts'
import { CONFIG_MAP, during, NONE_YET, podsStage, type PodsStage } from './pods-stage.ts'

let stage: PodsStage

beforeEach(async () => {
  stage = await podsStage()
})

afterEach(() => stage.close())

async function restore(...args: readonly string[]): Promise<{ code: number; out: string }> {
  let out = ''
  const request = asked(['experiment', 'restore', '--kubeconfig', stage.shop.kubeconfig, ...args])
  const code = await restoreRules(request as Parameters<typeof restoreRules>[0], {
    write: (text: string) => void (out += text),
  })
  return { code, out }
}

test('a change by another program ends the experiment and stays', async () => {
  const theirs = failing('theirs', 'elsewhere')
  const onEvent = during('20%', () => stage.change({ 'rules.yaml': theirs }))
  const result = await stage.run({ hold: '20s' }, { onEvent })
  expect(result).toMatchObject({ verdict: 'inconclusive', code: 'RULES_CHANGED', restored: false })
  expect(stage.configMap()).toEqual({
    annotations: {},
    labels: {},
    data: { ...NONE_YET, 'rules.yaml': theirs },
  })
})

test('pods that have other rules than the ConfigMap are rejected', async () => {
  stage.shop.api.store.delete(CONFIG_MAP)
  expect((await stage.rejected()).join('\n')).toContain('runs different rules from the ConfigMap')
  expect(stage.configMap()).toBeUndefined()
})

test('experiment restore leaves a claim that has not expired, unless it is forced', async () => {
  const before = stage.configMap()
  await stage.die('1m')
  const refused = await restore()
  expect(refused.code).toBe(1)
  expect(refused.out).toMatch(/of tester may still run: its claim lasts until \S+; --force ends it/)
  const { code, out } = await restore('--force', '--json')
  expect({ code, outcome: (JSON.parse(out) as { outcome: string }).outcome }).toEqual({
    code: 0,
    outcome: 'restored',
  })
  expect(stage.configMap()).toEqual(before)
  expect((await restore()).out).toContain('not claimed by an experiment')
})

test.each(['list pods', 'patch pods'])(
  'experiment restore without the right to %s restores, and names the right',
  async (right) => {
    const before = stage.configMap()
    await stage.die('1m')
    stage.shop.api.denied.add(right)
    const { code, out } = await restore('--force')
    expect({ code, configMap: stage.configMap() }).toEqual({ code: 0, configMap: before })
    expect(out).toMatch(
      /restored the rules from before .*\nwarning: .* up to two minutes later: cannot (?:list|patch) .*; give tester a Role in "shop" with .* verbs: \["(?:list|patch)"\]\n$/,
    )
  },
)

test('an interruption while the pods read the claim restores the ConfigMap', async () => {
  const before = stage.configMap()
  const stop = new AbortController()
  const { before: earlier } = stage.shop.api
  let isClaimed = false
  stage.shop.api.before = (seen) => {
    if (seen.method === 'PATCH' && seen.path === CONFIG_MAP) isClaimed = true
    if (isClaimed && seen.path.includes('/proxy/')) stop.abort()
    return earlier(seen)
  }
  await expect(stage.run({}, { stop: stop.signal })).rejects.toBeInstanceOf(RejectedError)
  expect(stage.configMap()).toEqual(before)
})

/** Lets requests fail with 503. */
function unavailable(fails: (seen: Seen) => boolean): void {
  const { before } = stage.shop.api
  stage.shop.api.before = (seen) => (fails(seen) ? 503 : before(seen))
}

const isRestore = ({ method, path, body }: Seen): boolean =>
  method === 'PATCH' &&
  path === CONFIG_MAP &&
  JSON.stringify((body as { data?: object }).data ?? {}).includes('backup":null')

test('a restore whose response is lost counts as restored', async () => {
  const before = stage.configMap()
  const { api } = stage.shop
  let restores = 0
  unavailable((seen) => {
    if (!isRestore(seen) || restores++ > 0) return false
    const found = api.store.get(CONFIG_MAP)!
    const { metadata: patch } = seen.body as { metadata: object }
    const metadata = { ...patch, resourceVersion: undefined }
    api.put(CONFIG_MAP, mergePatch(found, { ...seen.body, metadata }) as Seen['body'])
    return true
  })
  expect(await stage.run()).toMatchObject({ verdict: 'passed', restored: true })
  expect(restores).toBe(1)
  expect(stage.configMap()).toEqual(before)
})

test('pods that cannot be annotated for a moment are annotated again', async () => {
  let touches = 0
  unavailable(({ method, path }) => method === 'PATCH' && path.includes('/pods/') && touches++ < 2)
  expect(await stage.run()).toMatchObject({ verdict: 'passed', restored: true })
})

test('an interruption is over when no pod is armed, also where pods cannot be read meanwhile', async () => {
  const stop = new AbortController()
  let awayUntil = 0
  unavailable((seen) => {
    if (isRestore(seen)) awayUntil = performance.now() + 1_500
    return performance.now() < awayUntil && seen.path.includes('/pods')
  })
  const onEvent = during('20%', () => setTimeout(() => stop.abort(), 500))
  const result = await stage.run({ hold: '20s' }, { onEvent, stop: stop.signal })
  expect(result).toMatchObject({ code: 'INTERRUPTED', restored: true })
  const answers = await Promise.all(
    stage.sidecars.flatMap((squall) =>
      Array.from({ length: 20 }, () => stage.shop.ask(squall, 'work')),
    ),
  )
  expect(answers.filter((answer) => answer.includes('"no"'))).toEqual([])
  expect(stage.shop.api.store.get(CONFIG_MAP)!['data']).toEqual(NONE_YET)
})
