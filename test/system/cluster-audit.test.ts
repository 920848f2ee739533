// part: cluster
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { failing } from '../live/rules-directory.ts'
import { type Installed, missingForCluster, POLL, ROLLOUT, SERVERS } from './cluster/installed.ts'
import { nameOf } from './cluster/running-pod.ts'
import type { Stage } from './cluster/stage.ts'
import { SIDECAR_IMAGE } from './pod-images.ts'
import { example, loosePod, workload } from './cluster/workloads.ts'
import { startCluster } from '../support/cluster.ts'

// Shows chaos to an operator and to an auditor, in a real cluster. The tests are one story.
const PROGRAM = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const CTRL_C = ['-s', 'INT', '--preserve-status', '15'] as const
const IMAGE = ['--image', SIDECAR_IMAGE, '--image-pull-policy', 'Never'] as const
const WATCH = ['status', '-n', 'shop', '--watch'] as const
const APPLY = ['apply', '-f', '-', '-n', 'shop'] as const

let installed: Installed
let stage: Stage

describe.skipIf(missingForCluster() !== undefined)('an audit in a cluster', () => {
  beforeAll(async () => {
    installed = await startCluster('installed')
    stage = installed.stage
    await installed.cluster.kubectl(['apply', '-f', '-'], await example('shop'))
    await stage.kubectl('-n', 'shop', 'rollout', 'status', 'deploy/mcp-server', ROLLOUT)
    const { ok, text } = await stage.squallWith(failing('broken', 'get_weather'), ...APPLY)
    if (!ok) throw new Error(text)
  }, 480_000)

  afterAll(() => installed?.cluster.close(), 60_000)

  const label = (value: string): Promise<string> =>
    stage.kubectl('label', 'ns', 'shop', '--overwrite', `environment=${value}`)

  test('squall status --watch shows pods and changes, and ends with Ctrl-C', async () => {
    const [one] = await stage.pods('shop', SERVERS)
    const watch = (...more: readonly string[]) =>
      installed.cluster.user('timeout', [...CTRL_C, process.execPath, PROGRAM, ...WATCH, ...more])
    const running = Promise.all([watch(), watch('--json')])
    await stage.kubectl('-n', 'shop', 'annotate', 'pod', nameOf(one!), 'look=now')
    const [lines, json] = await running
    expect(lines.ok, lines.text).toBe(true)
    expect(lines.out).toMatch(
      new RegExp(`Z shop/${nameOf(one!)}: redirect, armed, rules 1, digest`),
    )
    expect(json.ok, json.text).toBe(true)
    const [first = ''] = json.out.split('\n')
    expect(JSON.parse(first)).toMatchObject({ ok: true, pods: [{ pod: expect.any(String) }, {}] })
  })

  test('squall apply leaves events: who, which rules, and when they end', async () => {
    const { ok, text } = await stage.squallWith(
      failing('brief', 'get_weather'),
      ...APPLY,
      '--for',
      '1h',
    )
    expect(ok, text).toBe(true)
    const user = await stage.kubectl('auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}')
    const [, ends = ''] =
      / by (?:\S+): brief ends (\S+Z)$/m.exec(await events('SquallApplied')) ?? []
    expect(Date.parse(ends)).toBeGreaterThan(Date.now() + 3_000_000)
    expect(await events('SquallApplied')).toContain(`by ${user}: `)
    const disarmed = await stage.squallWith('rules: []\n', ...APPLY)
    expect(disarmed.ok, disarmed.text).toBe(true)
    expect(await events('SquallDisarmed')).toContain(`by ${user}: none of them can act`)
  })

  test('warnings of pods that a controller creates in mode port are events, which kubectl describe shows', async () => {
    const annotations = { 'squall.dev/inject': 'true', 'squall.dev/mode': 'port' }
    expect(await stage.refusal('shop', workload('past', annotations))).toBe('')
    await stage.kubectl('-n', 'shop', 'rollout', 'status', 'deploy/past', ROLLOUT)
    await stage.kubectl('-n', 'shop', 'expose', 'deploy/past', '--port=80', '--target-port=3000')
    const { ok, text } = await stage.squallWith(failing('broken', 'get_weather'), ...APPLY)
    expect(ok, text).toBe(true)
    const [pod] = await stage.pods('shop', 'app=past')
    const described = await stage.kubectl('-n', 'shop', 'describe', 'pod', nameOf(pod!))
    expect(described).toMatch(
      /Warning +SquallWarning .* the Service "past" maps port 80 to the numeric targetPort 3000/,
    )
    await stage.kubectl('-n', 'shop', 'delete', 'deploy/past', 'svc/past')
  })

  test('squall attach and detach leave events of the pod', async () => {
    expect(await stage.refusal('shop', loosePod('alone'))).toBe('')
    await stage.kubectl('-n', 'shop', 'wait', '--for=condition=Ready', 'pod/alone', ROLLOUT)
    const attach = ['attach', 'alone', '-n', 'shop', '-f', '-', '--for', '2m', ...IMAGE] as const
    const attached = await stage.squallWith(failing('broken', 'get_weather'), ...attach)
    expect(attached.ok, attached.text).toBe(true)
    const detached = await stage.squall('attach', 'alone', '--undo', '-n', 'shop')
    expect(detached.ok, detached.text).toBe(true)
    const described = await stage.kubectl('-n', 'shop', 'describe', 'pod', 'alone')
    expect(described).toMatch(/SquallAttached .* a sidecar was attached by \S+, until 20\S+Z/)
    expect(described).toMatch(/SquallDetached .* a sidecar was detached by \S+$/m)
    await stage.kubectl('-n', 'shop', 'delete', 'pod', 'alone', '--wait=false')
  })

  function events(reason: string): Promise<string> {
    const path = '{range .items[*]}{.message}{"\\n"}{end}'
    const of = ['--field-selector', `reason=${reason}`]
    return stage.kubectl('-n', 'shop', 'get', 'events', ...of, '-o', `jsonpath=${path}`)
  }

  test('a namespace that is labelled production later is named by squall status, which fails', async () => {
    await expect.poll(() => stage.squall('status', '-n', 'shop'), POLL).toMatchObject({ ok: true })
    await label('Prod-EU')
    const { ok, out } = await stage.squall('status', '-n', 'shop')
    expect(ok).toBe(false)
    expect(out).toContain(
      'production: 2 sidecars are armed in namespace shop: the label environment',
    )
  })

  test('squall apply, resume and experiment refuse it then, and squall stop does not', async () => {
    const applied = await stage.squallWith(failing('more', 'get_weather'), ...APPLY)
    expect(applied.ok).toBe(false)
    expect(applied.text).toContain('counts as production')
    const [one] = await stage.pods('shop', SERVERS)
    const admin = await stage.portForward('shop', `pod/${nameOf(one!)}`, 15_390)
    const directory = await mkdtemp(join(tmpdir(), 'squall-audit-'))
    await writeFile(join(directory, 'plan.yaml'), planFor(admin.port))
    const plan = await stage.squall('experiment', 'run', join(directory, 'plan.yaml'))
    await Promise.all([admin.end(), rm(directory, { recursive: true })])
    expect(plan.ok).toBe(false)
    expect(plan.text).toContain('the label environment of the namespace shop, "Prod-EU" counts')
    const stopped = await stage.squall('stop', '-n', 'shop')
    expect(stopped.ok, stopped.text).toBe(true)
    await expect.poll(() => stage.squall('status', '-n', 'shop'), POLL).toMatchObject({ ok: true })
    const resumed = await stage.squall('resume', '-n', 'shop')
    expect(resumed.ok).toBe(false)
    expect(resumed.text).toContain('counts as production')
    await label('staging')
    expect(await stage.squall('resume', '-n', 'shop')).toMatchObject({ ok: true })
  })
})

/** A plan that is good, but for where it would be run. */
function planFor(port: number): string {
  return JSON.stringify({
    name: 'audit',
    target: { url: 'http://127.0.0.1:9/mcp', environment: 'staging' },
    sidecar: { admin: `http://127.0.0.1:${port}`, rulesFile: '/tmp/audit-rules.yaml' },
    steadyState: { errors: '1%' },
    rules: [{ name: 'broken', match: { tool: 'work' }, faults: [{ abort: { toolError: 'no' } }] }],
    stages: ['20%'],
    load: { clients: 1, tools: ['work'] },
    abortOn: { errors: '90%' },
  })
}
