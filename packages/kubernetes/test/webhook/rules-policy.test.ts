// part: slow
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { judge, startCluster, type Verdict } from '../../../../test/support/cluster.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import { asked } from '../../../../test/support/commands/command-line.ts'

const opened = closers()
const POLICY = `targets: ['*']
environments: [staging, dev]
maxPercent: 20%
maxDuration: 30m
faults: [delay, abort]
neverTools: ['delete_*', pay]
`
const LABELS = { 'squall.dev/rules': 'true' }

interface Rule {
  readonly name?: string
  readonly fault?: string
  readonly [key: string]: unknown
}

/** Rules that the policy allows but for what is given. */
function rules(...given: readonly Rule[]): string {
  const whole = given.map(({ fault = 'delay: { fixed: 1s }', ...more }, index) => ({
    name: `rule-${index}`,
    match: { tool: 'search' },
    percent: '10%',
    ...more,
    faults: `[FAULT${index}]`,
    fault,
  }))
  const lines = whole.map(({ fault, faults, ...rule }) =>
    JSON.stringify({ ...rule, faults }).replace(`"${faults}"`, `[{ ${fault} }]`),
  )
  return `rules:\n${lines.map((line) => `  - ${line}\n`).join('')}`
}

const inMinutes = (minutes: number): string =>
  new Date(Date.now() + minutes * 60_000).toISOString().replace(/\.\d+/, '')

type Data = Readonly<Record<string, string>>

async function start(policy: string | undefined, environment: string | undefined = 'staging') {
  const cluster = opened(await startCluster('api'))
  const labels = environment === '' ? {} : { environment }
  cluster.api.put('/api/v1/namespaces/shop', { metadata: { labels } })
  const file = join(cluster.directory, 'policy.yaml')
  if (policy !== undefined) await writeFile(file, policy)
  const webhook = { policyFile: file, readNamespaces: true }
  const staged = opened(await startSquall({ webhook, client: cluster.client }))
  const change = (object: object, oldObject?: object, namespace = 'shop'): Promise<Verdict> => {
    const resource = { group: '', version: 'v1', resource: 'configmaps' }
    const update = oldObject && { operation: 'UPDATE', oldObject }
    const request = { resource, namespace, ...update }
    return judge(staged.port, object, request, '/validate-rules?timeout=5s')
  }
  const ask = (data: Data, old?: Data, namespace = 'shop', time?: string): Promise<Verdict> => {
    const managedFields = time === undefined ? [] : [{ manager: 'me', time }]
    const map = (of: Data): object => labelled(of, LABELS, { managedFields })
    return change(map(data), old && map(old), namespace)
  }
  const said = async (text: string, old?: string): Promise<string> => {
    const verdict = await ask({ 'a.yaml': text }, old === undefined ? old : { 'a.yaml': old })
    return verdict.status?.message ?? 'allowed'
  }
  return { cluster, staged, file, ask, said, change }
}

function labelled(data: Data, labels: object, metadata: object = {}): object {
  return { metadata: { name: 'rules', labels, ...metadata }, data }
}

describe('the policy of experiments at admission', () => {
  test('allows rules within it, and denies others with all reasons and fixes', async () => {
    const { ask, said, staged } = await start(POLICY)
    expect(await said(rules({}, { fault: 'abort: { status: 503 }' }))).toBe('allowed')
    const denied = await ask({
      'a.yaml': rules(
        { fault: 'truncate: { after: { bytes: 10B } }' },
        { match: { tool: 'delete_all' } },
        { match: { method: 'tools/call' } },
        { match: { tool: ['search', 'pay'] } },
        { percent: undefined },
      ),
    })
    expect(denied).toMatchObject({ allowed: false, auditAnnotations: { rules: 'denied: policy' } })
    expect(denied.status?.message?.split('\n')).toEqual([
      'the policy does not allow the fault "truncate" in the rule "rule-0"; use one of delay, abort',
      'the policy forbids experiments with the tool "delete_all"; choose another tool',
      'the rule "rule-2" does not name its tools exactly, which neverTools in the policy requires; write match: { tool: NAME } without wildcards',
      'the policy forbids experiments with the tool "pay"; choose another tool',
      'the rule "rule-4" acts on 100% of calls, above maxPercent: 20% of the policy; write percent: 20%',
    ])
    const labels = { subject: 'rules', result: 'denied', reason: 'policy' }
    expect(await staged.metric('squall_webhook_validations_total', labels)).toBe(1)
  })

  test.each([
    [{ percent: '21%' }, '21%'],
    [{ percent: undefined, probability: 0.3 }, '30%'],
    [{ percent: '5%', ramp: { to: '40%', over: '1m' } }, '40%'],
    [{ percent: undefined, stages: ['5%', '50%'], each: '1m' }, '50%'],
    [{ percent: undefined, pods: '60%' }, '60%'],
    [{ percent: undefined, burst: { rate: '25%', length: 4 } }, '25%'],
  ])('counts the largest share of a rule: %j is %s', async (rule, share) => {
    const { said } = await start(POLICY)
    expect(await said(rules(rule))).toContain(`acts on ${share} of calls, above maxPercent: 20%`)
  })

  test.each([
    { percent: undefined, pods: '20%' },
    { percent: '50%', pods: '40%' },
    { percent: undefined, ramp: { to: '20%', over: '1m' } },
    { percent: undefined, burst: { rate: '20%', length: 4 } },
    { percent: undefined, enabled: false },
    { percent: undefined, dryRun: true, fault: 'truncate: { after: { bytes: 10B } }' },
  ])('allows smaller shares, and rules that inject nothing: %j', async (rule) => {
    const { said } = await start(POLICY)
    expect(await said(rules(rule))).toBe('allowed')
  })

  test('denies namespaces of other environments, of production, and without a label', async () => {
    const names = [
      ['qa', 'the policy does not allow the environment "qa"; use one of staging, dev'],
      ['', 'the namespace "shop" has no environment label; label it, such as environment=staging'],
    ] as const
    for (const [environment, message] of names) {
      expect(await (await start(POLICY, environment)).said(rules({}))).toBe(message)
    }
    const { ask, cluster } = await start(`${POLICY}forbidden: [shop-*]\n`)
    cluster.api.put('/api/v1/namespaces/shop-eu', {
      metadata: {
        labels: { environment: 'DEV' },
        annotations: { 'squall.dev/allow-production': 'true' },
      },
    })
    expect((await ask({ 'a.yaml': rules({}) }, undefined, 'shop-eu')).status?.message).toBe(
      'the namespace "shop-eu" matches shop-*, which the policy forbids; test another environment',
    )
  })

  test('with requireUntil, denies rules without an end and names the key and the flag', async () => {
    const { said } = await start(`${POLICY}requireUntil: true\n`)
    expect(await said(rules({}))).toMatch(
      /^the rule "rule-0" has no end, and the policy has requireUntil; write until: 20\S+Z, or use squall apply --for 30m$/,
    )
    expect(await said(rules({ until: inMinutes(90) }))).toMatch(
      /^the rule "rule-0" ends after \d+.*, later than maxDuration: 30m of the policy; write until: /,
    )
    // The time of `for` begins again in each new pod.
    expect(await said(rules({ for: '10m' }))).toContain('has no end')
    const applied = { appliedAt: inMinutes(-1), for: '10m' }
    expect(await said(rules({ ...applied, repeat: '1h' }))).toContain('has no end')
    for (const rule of [
      { until: inMinutes(30) },
      { from: inMinutes(600), until: inMinutes(620) },
      applied,
    ]) {
      expect(await said(rules(rule))).toBe('allowed')
    }
    expect(await said(`until: ${inMinutes(20)}\n${rules({}, {})}`)).toBe('allowed')
    // Without the key, the policy says nothing about ends.
    expect(await (await start(POLICY)).said(rules({}))).toBe('allowed')
  })
})

test('a stop, rules that were there before and those that an experiment restores pass', async () => {
  const { ask, said, file } = await start(undefined)
  const [wide, other] = [rules({ percent: '90%' }), rules({ percent: '90%' }, { name: 'other' })]
  for (const policy of [POLICY, 'environments: {', undefined]) {
    await (policy === undefined ? rm(file) : writeFile(file, policy))
    expect(await said(wide)).not.toBe('allowed')
    const stopped = { 'a.yaml': wide, 'squall-stop': '{"stops":[{}]}' }
    expect(await ask(stopped, { 'a.yaml': wide })).toMatchObject({ allowed: true })
    expect(await ask({ ...stopped, 'a.yaml': 'rules: []\n' }, stopped)).toMatchObject({
      allowed: true,
    })
    // What is left of the rules was there before; the end of a stop makes it new.
    expect(await said(wide, other)).toBe('allowed')
    expect(await ask({ 'a.yaml': wide }, stopped)).toMatchObject({ allowed: false })
    const backup = JSON.stringify({ text: wide, existed: true })
    const running = { 'a.yaml': rules({}), 'squall-experiment-backup': backup }
    expect(await ask({ 'a.yaml': wide }, running)).toMatchObject({ allowed: true })
    expect(await ask({ 'a.yaml': rules({ percent: '95%' }) }, running)).toMatchObject({
      allowed: false,
    })
  }
})

test('rules pass as restored ones only if the ConfigMap had them before', async () => {
  const { ask } = await start(POLICY)
  const [wide, own] = [rules({ percent: '90%' }), rules({})]
  const backupOf = (text: string | null) => JSON.stringify({ text, existed: true })
  const denied = {
    allowed: false,
    status: { message: expect.stringContaining('backup') as string },
  }
  for (const before of [{}, { 'a.yaml': own }]) {
    const forged = { ...before, 'squall-experiment-backup': backupOf(wide) }
    expect(await ask(forged, before)).toMatchObject(denied)
    expect(await ask(forged)).toMatchObject(denied)
  }
  // Nothing checks the text of a key that sidecars do not read.
  const noted = { 'a.yaml': own, notes: wide }
  expect(await ask(noted, { 'a.yaml': own })).toMatchObject({ allowed: true })
  const forged = { ...noted, 'squall-experiment-backup': backupOf(wide) }
  expect(await ask(forged, noted)).toMatchObject(denied)
  const claimed = { 'a.yaml': rules({}, {}), 'squall-experiment-backup': backupOf(own) }
  expect(await ask(claimed, { 'a.yaml': own })).toMatchObject({ allowed: true })
  const created = { 'a.yaml': own, 'squall-experiment-backup': backupOf(null) }
  expect(await ask(created)).toMatchObject({ allowed: true })
})

test('rules that another file disarmed are new once that file no longer does', async () => {
  const { ask } = await start(POLICY)
  const [wide, own] = [rules({ percent: '90%' }), rules({})]
  const off = 'enabled: false\nrules: []\n'
  const disarmed = { 'a.yaml': wide, 'b.yaml': off }
  expect(await ask(disarmed)).toMatchObject({ allowed: true })
  const denied = { allowed: false, auditAnnotations: { rules: 'denied: policy' } }
  expect(await ask({ 'a.yaml': wide }, disarmed)).toMatchObject(denied)
  expect(await ask({ ...disarmed, 'b.yaml': 'rules: []\n' }, disarmed)).toMatchObject(denied)
  // A stop, and the end of other rules, never depend on the policy.
  expect(await ask({ ...disarmed, 'squall-stop': '' }, disarmed)).toMatchObject({ allowed: true })
  const armed = { 'a.yaml': wide, 'b.yaml': rules({ name: 'other' }) }
  expect(await ask({ 'a.yaml': wide }, armed)).toMatchObject({ allowed: true })
  expect(await ask({ 'a.yaml': own }, disarmed)).toMatchObject({ allowed: true })
})

test('rules are new once the label is, or another one', async () => {
  const { change } = await start(POLICY)
  const [wide, off] = [rules({ percent: '90%' }), 'enabled: false\nrules: []\n']
  const separate = { 'squall.dev/rules': 'separate-keys' }
  const denied = { allowed: false, auditAnnotations: { rules: 'denied: policy' } }
  const plain = { 'a.yaml': wide }
  expect(await change(labelled(plain, LABELS), labelled(plain, {}))).toMatchObject(denied)
  const disarmed = labelled({ 'a.yaml': wide, 'b.yaml': off }, LABELS)
  expect(await change(labelled(plain, separate), disarmed)).toMatchObject(denied)
  expect(await change(labelled(plain, LABELS), labelled(plain, separate))).toMatchObject(denied)
  expect(await change(labelled(plain, {}), disarmed)).toMatchObject({ allowed: true })
  const backup = JSON.stringify({ text: wide, existed: true })
  const running = { 'a.yaml': rules({}), 'squall-experiment-backup': backup }
  expect(await change(labelled(plain, LABELS), labelled(running, {}))).toMatchObject({
    allowed: true,
  })
})

test('a later time in the ConfigMap makes no rule end in time', async () => {
  const { ask } = await start(`${POLICY}maxDuration: 30m\nrequireUntil: true\n`)
  const far = rules({ until: inMinutes(600) })
  const verdict = await ask({ 'a.yaml': far }, undefined, 'shop', inMinutes(590))
  expect(verdict).toMatchObject({ allowed: false })
})

test('a changed policy applies at the next review', async () => {
  const { said, file, staged } = await start(POLICY)
  expect(await said(rules({ percent: '30%' }))).toContain('maxPercent')
  await writeFile(file, POLICY.replace('20%', '30%'))
  expect(await said(rules({ percent: '30%' }))).toBe('allowed')
  expect(staged.lines.filter(({ msg }) => msg === 'policy loaded')).toHaveLength(2)
})

test.each([
  ['no file', undefined, /^no new rules: the policy cannot be read \(no such file or directory\)/],
  [
    'an unknown key',
    `${POLICY}faullts: [delay]\n`,
    /^no new rules: the policy is invalid: .*:7:1: .*faults/,
  ],
  ['no YAML', 'targets: [', /^no new rules: the policy is invalid: /],
  ['bytes that are no text', '\u0000\u0001', /^no new rules: the policy is invalid: /],
  ['a bomb of aliases', 'a: &a [x, x]\nb: &b [*a, *a]\ntargets: [*b]\n', /^no new rules: /],
  ['too much text', '#'.repeat(300 * 1024), /^no new rules: the policy is too large/],
])(
  'with %s as the policy nothing new is allowed, and the log names the error once',
  async (_, text, message) => {
    const { said, staged } = await start(text)
    expect(await said(rules({}))).toMatch(message)
    expect(await said(rules({}))).toMatch(message)
    expect(await said('rules: []\n')).toBe('allowed')
    const errors = staged.lines.filter(({ msg }) => msg === 'the policy cannot be used')
    expect(errors).toHaveLength(1)
  },
)

test('a directory as the policy allows nothing new', async () => {
  const { said, file } = await start(POLICY)
  await rm(file)
  await mkdir(file)
  expect(await said(rules({}))).toMatch(/^no new rules: the policy cannot be read/)
})

test('--policy requires the right to read labels of namespaces', () => {
  const flags = ['webhook', '--tls-dir', '/tls', '--policy', '/policy.yaml']
  expect(() => asked(flags)).toThrow(/--policy requires --read-namespaces; add --read-namespaces/)
  expect(asked([...flags, '--read-namespaces'])).toMatchObject({ policyFile: '/policy.yaml' })
})
