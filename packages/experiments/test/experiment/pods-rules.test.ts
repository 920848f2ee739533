// part: slow
import { afterEach, beforeEach, expect, test } from 'vitest'
import { restoreRules, type RestoreRequest } from '../../src/runs/restore.ts'
import { RejectedError } from '../../src/experiment/rejection.ts'
import { asked } from '../../../../test/support/asked.ts'
import { failing } from '../../../../test/live/rules-directory.ts'
import { CONFIG_MAP, during, NONE_YET, podsStage, type PodsStage } from './pods-stage.ts'

let stage: PodsStage

beforeEach(async () => {
  stage = await podsStage()
})

afterEach(() => stage.close())

async function restore(...args: readonly string[]): Promise<{ code: number; out: string }> {
  let out = ''
  const request = asked(['experiment', 'restore', '--kubeconfig', stage.shop.kubeconfig, ...args])
  const code = await restoreRules(request as RestoreRequest, {
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
  expect((await stage.rejected()).join('\n')).toContain('has other rules than the ConfigMap')
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
  expect((await restore()).out).toContain('no experiment has claimed it')
})

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
