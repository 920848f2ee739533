import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  ASK,
  judge,
  podOf,
  type StagedWebhook,
  type Verdict,
} from '../../../../test/support/cluster.ts'
import { startSquall } from '../../../../test/support/commands.ts'

let staged: StagedWebhook
beforeAll(async () => {
  staged = await startSquall({ webhook: {} })
})
afterAll(() => staged.close())

type Texts = Readonly<Record<string, string>>

function deployment(annotations: Texts, metadata: object = {}): object {
  const { spec } = podOf()
  return {
    metadata: { name: 'shop', ...metadata },
    spec: { template: { metadata: { annotations }, spec } },
  }
}

function ask(object: unknown, request: object = {}, plural = 'deployments'): Promise<Verdict> {
  const group = ['jobs', 'cronjobs'].includes(plural) ? 'batch' : 'apps'
  const resource = { group, version: 'v1', resource: plural }
  return judge(staged.port, object, { resource, ...request }, '/validate-workloads')
}

const message = (verdict: Verdict): string => verdict.status?.message ?? 'allowed'

test('a workload is denied where its pods would be, and says what to do', async () => {
  const typo = await ask(deployment({ ...ASK, 'squall.dev/prots': '3000' }))
  expect(message(typo)).toMatch(
    /^the pods of Deployment "shop" would be denied: .*squall\.dev\/prots.*did you mean squall\.dev\/ports/,
  )
  expect(typo.auditAnnotations).toEqual({ workload: 'denied: unknown_key' })
  expect(message(await ask(deployment({ 'squall.dev/injct': 'true' })))).toContain('inject')
  expect(message(await ask(deployment({ ...ASK, 'squall.dev/mode': 'up' })))).toContain('redirect')
  expect(message(await ask(deployment({ 'squall.dev/inject': 'yes' })))).toContain('true, false')
  const production = await ask(deployment(ASK), { namespace: 'shop-prod' })
  expect(message(production)).toContain('production')
})

test('gateways of the chart are accepted', async () => {
  const { spec } = podOf()
  const template = { metadata: { labels: { 'squall.dev/gateway': 'mcp' } }, spec }
  const gateway = { metadata: { name: 'mcp' }, spec: { template } }
  expect(await ask(gateway)).toMatchObject({ allowed: true })
})

test('warnings come when the workload is applied, not only to its controller', async () => {
  expect(await ask(deployment(ASK))).toMatchObject({
    allowed: true,
    warnings: [expect.stringContaining('the namespace cannot be read')],
  })
})

test.each(['statefulsets', 'daemonsets', 'replicasets', 'jobs'])(
  '%s are checked',
  async (plural) => {
    const bad = deployment({ ...ASK, 'squall.dev/prots': '3000' })
    expect(message(await ask(bad, {}, plural))).toContain('would be denied')
    expect(message(await ask(deployment(ASK), {}, plural))).toBe('allowed')
  },
)

test('the template of a CronJob is found below that of its Jobs', async () => {
  const job = (annotations: Texts): object => ({
    metadata: { name: 'nightly' },
    spec: { jobTemplate: deployment(annotations) },
  })
  const denied = await ask(job({ ...ASK, 'squall.dev/mode': 'up' }), {}, 'cronjobs')
  expect(message(denied)).toContain('CronJob "nightly"')
  expect(message(await ask(job(ASK), {}, 'cronjobs'))).toBe('allowed')
})

test('what is not to be held up passes: no keys, controllers, an unchanged template, the end', async () => {
  const bad = { ...ASK, 'squall.dev/prots': '3000' }
  const owner = [{ kind: 'Deployment', name: 'shop', uid: '1', controller: true }]
  const update = { operation: 'UPDATE', oldObject: deployment(bad) }
  const responses = [
    await ask(deployment({ 'other.dev/prots': '3000' })),
    await ask(deployment(bad, { ownerReferences: owner }), {}, 'replicasets'),
    await ask(deployment(bad, { labels: { scaled: 'yes' } }), update),
    await ask(deployment(bad, { deletionTimestamp: '2026-01-01T00:00:00Z' })),
    await ask({ spec: 7 }),
    await ask(null, { operation: 'DELETE' }),
  ]
  expect(responses.map(message)).toEqual(responses.map(() => 'allowed'))
  const changed = { ...update, oldObject: deployment(ASK) }
  expect(message(await ask(deployment(bad), changed))).toContain('would be denied')
})
