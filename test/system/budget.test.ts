// part: api-server
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readPlan } from '../../packages/experiments/src/experiment/read-plan.ts'
import { armedText } from '../../packages/experiments/src/experiment/armed-rules.ts'
import { RejectedError } from '../../packages/experiments/src/experiment/rejection.ts'
import { PodSidecars } from '../../packages/experiments/src/operations/pods/pod-sidecars.ts'
import { openAgent, STATE, trust } from '../../packages/experiments/test/mcp-server/agent.ts'
import { connectKube } from '../../packages/kubernetes/src/kube/connect.ts'
import type { KubeClient } from '../../packages/kubernetes/src/kube/kube-client.ts'
import { failing } from '../live/rules-directory.ts'
import { closers } from '../support/closers.ts'
import { CA, startCluster } from '../support/cluster.ts'
import { startProgram, startSquall } from '../support/commands.ts'
import { eventually } from '../support/eventually.ts'
import { admissionOf, type Admission } from './admission.ts'
import { type ApiServer, apiServerMissing } from './api-server-process.ts'
import { helmMissing, rendered } from './helm.ts'
import { PATIENCE } from './patience.ts'

// A real API server, whose RBAC and resource versions decide. There are no nodes, so no pod runs.
const missing = apiServerMissing()
const opened = closers()
const SYSTEM = 'squall-system'
const UNTIL = '2099-01-01T00:00:00Z'
const FROZEN = { freeze: UNTIL, by: 'sre@example.com', reason: 'Christmas' }
const REFUSAL = /the ConfigMap squall-budget in squall-system denies new chaos in shop: /
/** Each refusal says who set the freeze, and until when. */
const DENIAL = new RegExp(
  `${REFUSAL.source}frozen until ${UNTIL}: Christmas; set by sre@example.com`,
)

let server: ApiServer
let kubectl: Admission['kubectl']
let directory: string
/** The kubeconfig of a person with rights in the namespace alone. */
let narrow: string

const at = (name: string): string => join(directory, name)

/** Runs a command of this program with a kubeconfig. */
async function squall(kubeconfig: string, ...args: readonly string[]) {
  const access = ['--kubeconfig', kubeconfig]
  const { code, stdout, stderr } = await startProgram([...args, ...access], {}, { here: true })
  return { code, text: `${stdout}${stderr}` }
}

function apply(kubeconfig: string, rule: string, ...more: readonly string[]) {
  return squall(kubeconfig, 'apply', '-n', 'shop', '-f', at(`${rule}.yaml`), ...more)
}

function configMap(name: string, data: object, more: object = {}): string {
  const metadata = { name, ...more }
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data })
}

async function setBudget(data: object | undefined): Promise<void> {
  const budget = ['configmap', 'squall-budget', '-n', SYSTEM]
  await kubectl(['delete', ...budget, '--ignore-not-found'])
  if (data === undefined) return
  await kubectl(['create', '-n', SYSTEM, '-f', '-'], configMap('squall-budget', data))
}

/** The text of a plan for the pods of a ConfigMap. */
function plan(rules = 'squall-rules'): string {
  const kubernetes = { namespace: 'shop', selector: { app: 'shop' }, configMap: rules }
  return JSON.stringify({
    name: 'frozen',
    target: { url: 'http://127.0.0.1:1/mcp', environment: 'staging' },
    sidecar: { kubernetes },
    steadyState: { errors: '1%', for: '1s' },
    rules: [{ name: 'broken', match: { tool: 'work' }, faults: [{ abort: { toolError: 'no' } }] }],
    stages: ['10%'],
    hold: '1s',
    load: { clients: 1, rate: 1, tools: ['work'] },
    abortOn: { errors: '90%' },
  })
}

function clientOf(kubeconfig: string): KubeClient {
  return opened(connectKube({ kubeconfig, context: undefined, env: {}, version: '0' }))
}

/** Begins an experiment on the pods of a ConfigMap; returns why it may not begin. */
async function begin(kubeconfig: string, id: string, rules: string): Promise<string | undefined> {
  const read = await readPlan(plan(rules), {
    file: 'plan.yaml',
    directory: '/',
    readText: () => Promise.reject(new Error()),
  })
  if (!read.ok || read.plan.sidecar.kind !== 'pods') throw new Error(JSON.stringify(read))
  const budget = { systemNamespace: SYSTEM, requireBudget: false }
  const options = { prefix: 'squall.dev/', readToken: undefined, budget }
  const sidecars = new PodSidecars(clientOf(kubeconfig), read.plan.sidecar, options)
  try {
    const replaced = await sidecars.open(id)
    const now = Date.now()
    const { text, digest } = armedText(read.plan, id, read.plan.stages[0], now + 60_000, now)
    await replaced.write(text, digest, now)
    return undefined
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error
    return error.rejections.map(({ code, wrong }) => `${code}: ${wrong}`).join('\n')
  }
}

describe.skipIf(missing !== undefined)('a budget on a real API server', () => {
  beforeAll(async () => {
    server = await startCluster('control-plane')
    ;({ kubectl } = admissionOf(server))
    directory = await mkdtemp(join(tmpdir(), 'squall-budget-'))
    for (const name of [SYSTEM, 'shop', 'cart']) await kubectl(['create', 'namespace', name])
    await kubectl(['-n', 'shop', 'create', 'serviceaccount', 'lena'])
    const rights = ['--verb=*', '--resource=configmaps,pods,events']
    await kubectl(['-n', 'shop', 'create', 'role', 'lena', ...rights])
    const bound = ['--role=lena', '--serviceaccount=shop:lena']
    await kubectl(['-n', 'shop', 'create', 'rolebinding', 'lena', ...bound])
    narrow = server.kubeconfigFor((await kubectl(['-n', 'shop', 'create', 'token', 'lena'])).trim())
    for (const name of ['one', 'two', 'three']) {
      await writeFile(at(`${name}.yaml`), failing(name))
    }
    await writeFile(at('plan.yaml'), plan())
  }, 300_000)

  afterAll(async () => {
    await server?.close()
    await rm(directory, { recursive: true, force: true })
  })

  test('a freeze holds against apply, resume, attach and an experiment, and not against stop', async () => {
    await setBudget(undefined)
    expect(await apply(server.kubeconfig, 'one')).toMatchObject({ code: 0 })
    await setBudget(FROZEN)
    const denied = await apply(server.kubeconfig, 'two', '--force')
    expect(denied).toMatchObject({ code: 2, text: expect.stringMatching(DENIAL) as unknown })
    expect(await squall(server.kubeconfig, 'stop', '-n', 'shop')).toMatchObject({ code: 0 })
    const refused = expect.objectContaining({
      code: 2,
      text: expect.stringMatching(DENIAL) as unknown,
    }) as unknown
    expect(await squall(server.kubeconfig, 'resume', '-n', 'shop')).toEqual(refused)
    const attach = ['attach', 'some-pod', '-n', 'shop', '-f', at('one.yaml'), '--for', '1m']
    expect(await squall(server.kubeconfig, ...attach)).toEqual(refused)
    const kept = ['--experiments', at('experiments'), '--kubeconfig', server.kubeconfig]
    const run = await startProgram(['experiment', 'run', at('plan.yaml'), ...kept]).finished()
    expect(run.code).toBe(1)
    expect(run.stderr).toMatch(DENIAL)
    expect(await begin(server.kubeconfig, 'frozen', 'squall-rules')).toMatch(DENIAL)
    const now = await kubectl(['get', 'configmap', 'squall-rules', '-n', 'shop', '-o', 'yaml'])
    expect(now).toContain('one')
    expect(now).not.toContain('two')
  }, 120_000)

  test('the MCP server refuses an experiment with who set the freeze and until when', async () => {
    await setBudget(FROZEN)
    const policy = { targets: ['http://127.0.0.1:*/mcp'], environments: ['staging'] }
    const required = ['abortOn', 'steadyState']
    await writeFile(at('policy.yaml'), JSON.stringify({ ...policy, require: required }))
    await trust(at('policy.yaml'))
    const flags = ['--policy', at('policy.yaml'), '--namespace', 'shop']
    const kept = ['--experiments', at('experiments'), '--state-dir', at('state')]
    const access = ['--kubeconfig', server.kubeconfig, '--target', 'http://127.0.0.1:1/mcp']
    const asked = [...flags, ...kept, ...access]
    const agent = opened(await openAgent({ server: asked, approves: true, env: STATE }))
    const proposed = await agent.call('propose_experiment', { plan: plan() })
    expect(proposed.isError).toBe(true)
    expect(proposed.text).toMatch(DENIAL)
  }, 120_000)

  test('of two experiments that begin at the same moment one passes a limit of 1', async () => {
    await setBudget({ experiments: '1', by: 'sre' })
    for (let round = 0; round < 5; round++) {
      await kubectl([
        'delete',
        'configmap',
        'squall-experiments',
        '-n',
        SYSTEM,
        '--ignore-not-found',
      ])
      const denials = await Promise.all([
        begin(server.kubeconfig, `a-${round}`, `rules-a-${round}`),
        begin(server.kubeconfig, `b-${round}`, `rules-b-${round}`),
      ])
      const [denial, ...others] = denials.filter((each) => each !== undefined)
      expect(others).toEqual([])
      expect(denial).toMatch(/experiments allows 1, and 1 run, such as .* of shop, until .*Z; set/)
    }
    // The claims of the last round have not expired, though nobody renews them.
    expect(await begin(server.kubeconfig, 'later', 'rules-later')).toMatch(/and 1 run/)
  }, 120_000)

  test('who may not read the system namespace begins nothing where a budget was seen or is required', async () => {
    await setBudget(undefined)
    await kubectl(['delete', 'configmap', 'squall-rules', '-n', 'shop', '--ignore-not-found'])
    // Nobody has seen one, and none is required.
    expect(await apply(narrow, 'one')).toMatchObject({ code: 0 })
    const required = await apply(narrow, 'two', '--require-budget')
    expect(required.code).toBe(2)
    expect(required.text).toMatch(REFUSAL)
    await setBudget({ freeze: 'false' })
    expect(await apply(server.kubeconfig, 'three')).toMatchObject({ code: 0 })
    const seen = await apply(narrow, 'two')
    expect(seen.code).toBe(2)
    expect(seen.text).toMatch(/squall-budget.*denies new chaos in shop.*forbidden/s)
    expect(await squall(narrow, 'stop', '-n', 'shop')).toMatchObject({ code: 0 })
    for (const args of [
      ['resume', '-n', 'shop'],
      ['attach', 'some-pod', '-n', 'shop', '-f', at('one.yaml'), '--for', '1m'],
    ]) {
      const { code, text } = await squall(narrow, ...args)
      expect(code).toBe(2)
      expect(text).toMatch(REFUSAL)
    }
    expect(await begin(narrow, 'seen', 'squall-rules')).toMatch(REFUSAL)
    // Rules that do nothing end faults.
    await writeFile(at('none.yaml'), 'rules: []\n')
    expect(await apply(narrow, 'none')).toMatchObject({ code: 0 })
  }, 120_000)

  test('an experiment that may not write where experiments are counted does not begin', async () => {
    await setBudget({ experiments: '1', by: 'sre' })
    const budget = ['--verb=get', '--resource=configmaps', '--resource-name=squall-budget']
    await kubectl(['-n', SYSTEM, 'create', 'role', 'reader', ...budget])
    const bound = ['--role=reader', '--serviceaccount=shop:lena']
    await kubectl(['-n', SYSTEM, 'create', 'rolebinding', 'reader', ...bound])
    await eventually(async () => {
      const why = await begin(narrow, 'uncounted', 'rules-uncounted')
      return /squall-budget in squall-system .*squall-experiments/.test(why ?? '')
        ? undefined
        : (why ?? 'it has begun')
    }, PATIENCE)
  }, 120_000)

  test.skipIf(helmMissing() !== undefined)(
    'the chart gives the service account of experiments what it needs for a place',
    async () => {
      await setBudget({ experiments: '1', by: 'sre' })
      await kubectl([
        'delete',
        'configmap',
        'squall-experiments',
        '-n',
        SYSTEM,
        '--ignore-not-found',
      ])
      const sets = ['budget.enabled=true', 'validation.rules.enabled=true']
      const all = await rendered(
        [...sets, 'experiments.namespaces={shop}'].flatMap((set) => ['--set', set]),
      )
      const own = all.filter(({ metadata: { name } }) => /budget|experiment/.test(name))
      await kubectl(
        ['create', '-f', '-'],
        JSON.stringify({ kind: 'List', apiVersion: 'v1', items: own }),
      )
      const token = await kubectl(['-n', 'shop', 'create', 'token', 'squall-experiment'])
      const account = server.kubeconfigFor(token.trim())
      await eventually(() => begin(account, 'counted', 'squall-rules'), PATIENCE)
      expect(await begin(account, 'next', 'squall-rules')).toMatch(/and 1 run, such as counted of/)
      const rights = ['auth', 'can-i', 'patch', 'configmap/squall-budget', '-n', SYSTEM]
      const { text } = await server.run('kubectl', [...rights, '--kubeconfig', account])
      expect(text).toContain('no')
    },
    120_000,
  )

  test('the webhook denies new rules by kubectl in a freeze, and lets stop pass', async () => {
    await setBudget(undefined)
    await kubectl(['delete', 'configmap', 'squall-rules', '-n', 'shop', '--ignore-not-found'])
    const client = connectKube({
      kubeconfig: server.kubeconfig,
      context: undefined,
      env: {},
      version: '0',
    })
    const webhook = { budget: { requireBudget: false, systemNamespace: SYSTEM } }
    const staged = opened(await startSquall({ webhook, client }))
    await kubectl(['create', '-f', '-'], JSON.stringify(configuration(staged.port)))
    const label = { labels: { 'squall.dev/rules': 'true' } }
    const create = (name: string) =>
      server.run(
        'kubectl',
        ['create', '-n', 'shop', '-f', '-'],
        configMap(name, { 'rules.yaml': failing(name) }, label),
      )
    await eventually(async () => {
      const invalid = configMap('invalid', { 'rules.yaml': 'rules: {' }, label)
      const args = ['create', '--dry-run=server', '-n', 'shop', '-f', '-']
      const { ok, text } = await server.run('kubectl', args, invalid)
      return ok ? text : undefined
    }, PATIENCE)
    expect(await create('squall-rules')).toMatchObject({ ok: true })
    await setBudget(FROZEN)
    const denied = await create('more')
    expect(denied.ok).toBe(false)
    expect(denied.text).toMatch(DENIAL)
    const patch = JSON.stringify({ data: { 'rules.yaml': failing('other') } })
    const patching = [
      'patch',
      'configmap',
      'squall-rules',
      '-n',
      'shop',
      '--type=merge',
      '-p',
      patch,
    ]
    expect((await server.run('kubectl', patching)).text).toMatch(DENIAL)
    expect(await squall(server.kubeconfig, 'stop', '-n', 'shop')).toMatchObject({ code: 0 })
    await setBudget({ freeze: 'false' })
    expect(await server.run('kubectl', patching)).toMatchObject({ ok: true })
  }, 120_000)
})

function configuration(port: number): object {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'squall' },
    webhooks: [
      {
        name: 'rules.squall.dev',
        clientConfig: {
          url: `https://127.0.0.1:${port}/validate-rules`,
          caBundle: Buffer.from(CA.cert).toString('base64'),
        },
        rules: [
          {
            apiGroups: [''],
            apiVersions: ['v1'],
            resources: ['configmaps'],
            operations: ['CREATE', 'UPDATE'],
          },
        ],
        objectSelector: { matchExpressions: [{ key: 'squall.dev/rules', operator: 'Exists' }] },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
      },
    ],
  }
}
