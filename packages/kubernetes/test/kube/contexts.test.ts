// part: slow
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { Fields } from '../../../../src/base/values.ts'
import { applyCommand } from '../../src/cli/apply.ts'
import type { ApplyRequest } from '../../src/commands/apply.ts'
import { inContexts } from '../../src/cli/contexts.ts'
import { statusCommand } from '../../src/cli/status.ts'
import type { StatusRequest } from '../../src/commands/status.ts'
import { stopCommand } from '../../src/cli/stop.ts'
import type { StopRequest } from '../../src/commands/stop.ts'
import { failing } from '../../../../test/live/rules-directory.ts'
import { closers } from '../../../../test/support/closers.ts'
import { kubeconfigText, type Shop, startCluster, TOKEN } from '../../../../test/support/cluster.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { asked } from '../../../../test/support/commands/command-line.ts'

const opened = closers()

/** Two clusters in one kubeconfig, and a third one that is not there. */
async function stage() {
  const [east, west] = [opened(await startCluster('shop')), opened(await startCluster('shop'))]
  await east.addPod('east-1')
  await west.addPod('west-1')
  const config: Record<string, unknown[]> = { clusters: [], users: [], contexts: [] }
  const add = (name: string, shop: Shop, server = shop.api.url): void => {
    const one = parse(kubeconfigText(shop.api, { token: TOKEN })) as Record<string, Fields[]>
    const [cluster, user] = [one['clusters']![0]!['cluster'], one['users']![0]!['user']]
    config['clusters']!.push({ name, cluster: { ...(cluster as Fields), server } })
    config['users']!.push({ name, user })
    config['contexts']!.push({ name, context: { cluster: name, user: name, namespace: 'shop' } })
  }
  add('east', east)
  add('gone', east, 'https://127.0.0.1:1')
  add('west', west)
  const file = join(east.directory, 'contexts')
  await writeFile(file, stringify(config))
  const rules = join(east.directory, 'rules.yaml')
  await writeFile(rules, failing('first'))
  return { east, west, file, rules }
}

function outputs() {
  const written = { out: '', err: '' }
  const noop = (): undefined => undefined
  const sink = (name: 'out' | 'err') => ({
    write: (text: string) => void (written[name] += text),
    on: noop,
    off: noop,
  })
  return { written, output: { out: sink('out'), err: sink('err') } }
}

test('a stop reaches every cluster, also where one is unreachable', async () => {
  const { east, west, file } = await stage()
  const { written, output } = outputs()
  const args = ['--kubeconfig', file, '--contexts', 'gone,east', '--contexts', 'west']
  const request = asked(['stop', '-n', 'shop', '--timeout', '2s', ...args]) as StopRequest
  expect(await inContexts(request, stopCommand, { isParallel: true }, output)).toBe(1)
  for (const shop of [east, west]) expect(shop.rules()).toHaveProperty('squall-stop')
  expect(written.out).toContain('context east:\nconfigmap squall-rules in shop: stopped\n')
  expect(written.out).toContain('context west:\nconfigmap squall-rules in shop: stopped\n')
  expect(written.out).toMatch(/context gone:\nNOT stopped/)
})

test('apply and status run in one cluster after the other, as text and as one document', async () => {
  const { east, west, file, rules } = await stage()
  const args = ['--kubeconfig', file, '--contexts', 'east,gone,west']
  const first = outputs()
  const apply = asked(['apply', '-f', rules, '--timeout', '3s', ...args]) as ApplyRequest
  expect(await inContexts(apply, applyCommand, {}, first.output)).toBe(1)
  for (const shop of [east, west]) expect(shop.rules()['rules.yaml']).toContain('first')
  expect(first.written.err).toMatch(/^east: configmap squall-rules in shop: created$/m)
  expect(first.written.out).toMatch(
    /^context east:\nrules loaded in 1 of 1 pods\ncontext gone:\ncannot [^\n]+\ncontext west:\nrules loaded/,
  )
  const second = outputs()
  const status = asked(['status', '--json', ...args]) as StatusRequest
  const code = await inContexts(
    status,
    (each, { out }) => statusCommand(each, out),
    {},
    second.output,
  )
  expect(code).toBe(1)
  const { ok, contexts } = JSON.parse(second.written.out) as { ok: boolean; contexts: object[] }
  expect(ok).toBe(false)
  expect(contexts).toMatchObject([
    { context: 'east', pods: [{ pod: 'east-1' }] },
    { context: 'gone', ok: false, trouble: expect.stringContaining('nothing listens') as string },
    { context: 'west', pods: [{ pod: 'west-1' }] },
  ])
})

test.each([
  ['status --contexts a,b --watch', '--contexts and --watch are mutually exclusive'],
  ['status --contexts a --context b', '--contexts and --context are mutually exclusive'],
  ['apply --contexts a,b -f -', '--contexts and -f - are mutually exclusive'],
  ['stop --contexts a,,b', 'has an empty element'],
])('%s is rejected', async (line, wrong) => {
  const { code, stderr } = await startProgram(line.split(' '), {}, { here: true })
  expect(stderr).toContain(wrong)
  expect(code).toBe(2)
})

test('a stop by SQUALL_CONTEXTS reaches the clusters, and no sidecar of this machine', async () => {
  const { east, west, file } = await stage()
  const env = { KUBECONFIG: file, SQUALL_CONTEXTS: 'east,west', SQUALL_ADMIN_TOKEN: 'a'.repeat(32) }
  const { code, stdout } = await startProgram(['stop'], env, { here: true })
  expect(code, stdout).toBe(0)
  for (const shop of [east, west]) expect(shop.rules()).toHaveProperty('squall-stop')
  const one = await startProgram(['resume', '--context', 'east'], env, { here: true })
  expect(one.code, one.stdout).toBe(0)
  const armed = async (context: string): Promise<string> => {
    const args = ['status', '-n', 'shop', '--context', context]
    return (await startProgram(args, env, { here: true })).stdout
  }
  expect(await armed('east')).toMatch(/east-1 .* armed /)
  expect(await armed('west')).toMatch(/west-1 .*disarmed/)
})

test('the suggested resume ends the stop in the same cluster and ConfigMap', async () => {
  const { east, west, file } = await stage()
  const run = (line: string) => startProgram(line.split(' '), { KUBECONFIG: file }, { here: true })
  const more = '--configmap canary-rules --unlabelled --annotation-prefix chaos.dev/ --as bob'
  const stopped = await run(`stop -n shop --contexts east,west ${more}`)
  const lines = stopped.stdout.matchAll(/^to resume: npx mcp-squall (.+)$/gm)
  const suggested = [...lines].flatMap(([, line = '']) => line).toSorted((a, b) => (a < b ? -1 : 1))
  expect(suggested).toEqual(
    ['east', 'west'].map(
      (each) =>
        `resume -n shop --context ${each} --as bob --annotation-prefix chaos.dev/ --configmap canary-rules --unlabelled`,
    ),
  )
  const { code, stdout } = await run(suggested[0] ?? '')
  expect(code, stdout).toBe(0)
  expect(east.rules('canary-rules')['squall-stop']).toBe('{"stops":[]}\n')
  expect(west.rules('canary-rules')['squall-stop']).toContain('"at"')
})

test.each([
  ['--contexts east,west', { SQUALL_CONTEXT: 'gone' }, ['east', 'west']],
  ['--context west', { SQUALL_CONTEXTS: 'east,gone' }, ['west']],
  ['--context west -n shop', { SQUALL_ALL_NAMESPACES: 'true' }, ['west']],
  ['--context west -A', { SQUALL_NAMESPACE: 'none' }, ['west']],
])('status %s, with the variable %j, goes by its flags', async (line, env, clusters) => {
  const { file, west } = await stage()
  west.api.put('/api/v1/namespaces/cart/pods/cart-1', {
    metadata: { annotations: { 'squall.dev/inject': 'true' } },
  })
  const args = ['status', ...line.split(' '), '--kubeconfig', file]
  const { stdout, stderr } = await startProgram(args, env, { here: true })
  expect(stderr).toBe('')
  for (const each of ['east', 'west']) {
    expect(stdout.includes(`${each}-1`), stdout).toBe(clusters.includes(each))
  }
  expect(stdout.includes('cart-1'), stdout).toBe(line.endsWith('-A'))
})

test('--contexts and --confirm are mutually exclusive: pods of two clusters may have one name', async () => {
  const { file } = await stage()
  const monitor = ['--confirm', 'prometheus=http://127.0.0.1:1']
  const args = ['stop', '-n', 'shop', '--kubeconfig', file, '--contexts', 'east', ...monitor]
  const { code, stderr } = await startProgram(args, {}, { here: true })
  expect(code).toBe(2)
  expect(stderr).toContain('--contexts and --confirm are mutually exclusive')
})
