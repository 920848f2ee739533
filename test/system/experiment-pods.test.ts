// part: cluster
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import type { ExperimentResult } from '../../packages/experiments/src/experiment/experiment-result.ts'
import { startCluster } from '../support/cluster.ts'
import { type Installed, missingForCluster, note, POLL, ROLLOUT } from './cluster/installed.ts'
import { countingServers } from './cluster/counting-servers.ts'
import { nameOf } from './cluster/running-pod.ts'
import type { OutsideClient, Stage } from './cluster/stage.ts'

// An experiment on a Deployment of three replicas, beside the log of the server. The tests are one story.
const KILLS = Number(process.env['SQUALL_TEST_KILLS'] ?? 4)
/** The longest time from the start of a runner to its death. */
const MOST_MS = 12_000
const CLIENTS = 6
const EXPIRY_MS = 5_000
const BLUR_MS = 2_000
const RULES = '# of the team\nrules: []\n'
const NO_STAGE = { restartMs: null, applied: 0, matched: 0, label: 'none' }
/** The calls that an independent client makes to find faults. */
const CALLS = 20

let installed: Installed
let stage: Stage
let directory: string
let address: string
let outside: OutsideClient
/** The logs of all pods that there ever were, by name. */
const logs = new Map<string, Promise<string>>()

describe.skipIf(missingForCluster() !== undefined)('an experiment on pods of a cluster', () => {
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'squall-experiment-pods-'))
    const namespaces = ['--set', 'experiments.namespaces={shop},experiments.kill=true']
    installed = await startCluster('installed', namespaces)
    stage = installed.stage
    outside = stage.client()
    await installed.cluster.kubectl(['-n', 'shop', 'apply', '-f', '-'], countingServers(RULES))
    await stage.kubectl('-n', 'shop', 'rollout', 'status', 'deploy/counting', ROLLOUT)
    address = await stage.service('shop', 'counting')
    await followAll()
  }, 480_000)

  afterAll(async () => {
    await installed?.cluster.close()
    await rm(directory, { recursive: true, force: true })
  }, 60_000)

  test('goes through its stages while a pod is deleted and one is added, and counts every call', async () => {
    explain()
    const before = await configMap()
    const run = start(await plan({ stages: ['20%', '40%'], hold: '12s' }, 30_000), '--json')
    await expect.poll(rules, POLL).toContain('"percent": 40')
    const [first] = await stage.pods('shop', 'app=counting')
    await stage.kubectl('-n', 'shop', 'delete', 'pod', nameOf(first!), '--wait=false')
    await stage.kubectl('-n', 'shop', 'scale', 'deploy/counting', '--replicas=4')
    const following = setInterval(() => void followAll().catch(() => {}), 250)
    const { code, out, err } = await run.ended
    clearInterval(following)
    expect(out, err).not.toBe('')
    const result = JSON.parse(out) as ExperimentResult
    expect(result, result.why).toMatchObject({ verdict: 'passed', restored: true })
    expect(code).toBe(0)
    expect(await configMap()).toBe(before)
    expect(await stage.pods('shop', 'app=counting')).toHaveLength(4)
    const calls = await callTimes()
    for (const [index, each] of result.stages.entries()) {
      const { startedAt, durationMs, matched, applied, label } = each
      const from = Date.parse(startedAt)
      const seen = calls.filter((at) => at >= from && at <= from + durationMs).length
      note(`stage ${label}: ${matched} matched, ${applied} injected, ${seen} at the server`)
      expect(applied).toBeGreaterThan(0)
      // A call of each client may be cut with the deleted pod: counted there and not at the server, or the reverse.
      const cut = index === 0 ? 0 : CLIENTS
      expect(Math.abs(matched - applied - seen)).toBeLessThanOrEqual(cut)
    }
  })

  test('squall check finds nothing wrong, and names what is', async () => {
    explain()
    const access = ['--kubeconfig', installed.cluster.kubeconfig]
    const found = await stage.squall('check', '-n', 'shop', '--json', ...access)
    expect(JSON.parse(found.out), found.text).toMatchObject({ ok: true })
    const empty = await stage.squall('check', '-n', 'tight', ...access)
    // Nothing is wrong before the first sidecar.
    expect(empty).toMatchObject({ ok: true })
    expect(empty.text).toContain('no pod of tight has a sidecar')
  })

  test('runs as a Job, which kills a pod and deletes the ConfigMap that it created', async () => {
    explain()
    await stage.kubectl('-n', 'shop', 'delete', 'cm', 'squall-rules')
    await delivered('absent')
    const kill = { pod: 1, restartWithin: '1m' }
    const changes = { stages: ['20%'], hold: '12s', kill, description: 'as a Job' }
    const { code, out, err } = await start(await plan(changes, 30_000), '--json', '--in-cluster')
      .ended
    expect(out, err).not.toBe('')
    const result = JSON.parse(out) as ExperimentResult
    expect(result, JSON.stringify(result)).toMatchObject({ verdict: 'passed', restored: true })
    expect(code).toBe(0)
    const [{ restartMs, applied, matched, label } = NO_STAGE] = result.stages
    note(`job, stage ${label}: ${matched} matched, ${applied} injected, pod after ${restartMs} ms`)
    expect(applied).toBeGreaterThan(0)
    expect(restartMs).toBeGreaterThan(0)
    // The cluster deletes what belonged to the Job a little later.
    await expect
      .poll(() => stage.kubectl('-n', 'shop', 'get', 'cm,jobs', '-o', 'name'), POLL)
      .toBe('configmap/kube-root-ca.crt\n')
    await installed.cluster.kubectl(['-n', 'shop', 'apply', '-f', '-'], countingServers(RULES))
    await stage.kubectl('-n', 'shop', 'rollout', 'status', 'deploy/counting', ROLLOUT)
    await delivered('applied')
  })

  test('Ctrl-C deletes the Job, which restores the rules first', async () => {
    explain()
    const before = await configMap()
    const changes = { stages: ['20%'], hold: '2m' }
    const run = start(await plan(changes, 30_000), '--in-cluster')
    await expect.poll(rules, POLL).toContain('"percent": 20')
    run.child.kill('SIGINT')
    const { code, out, err } = await run.ended
    expect({ code, out }, err).toEqual({
      code: 130,
      out: expect.stringContaining('the experiment was interrupted'),
    })
    expect(await configMap()).toBe(before)
    await expect.poll(armed, POLL).toEqual([])
    await expect
      .poll(() => stage.kubectl('-n', 'shop', 'get', 'jobs,cm', '-o', 'name'), POLL)
      .toBe('configmap/kube-root-ca.crt\nconfigmap/squall-rules\n')
  })

  test(
    `leaves nothing armed when its runner is killed, at ${KILLS} random moments`,
    async () => {
      explain()
      const before = await configMap()
      for (let kill = 0; kill < KILLS; kill++) {
        const run = start(await plan({ stages: ['10%', '25%', '40%'], hold: '2s' }))
        const atMs = Math.round(Math.random() * MOST_MS)
        await sleep(atMs / 2)
        // Pods come and go in every other run.
        if (kill % 2 === 1) await replacePods(kill % 4 === 1 ? 4 : 3)
        await sleep(atMs / 2)
        run.child.kill('SIGKILL')
        const { err } = await run.ended
        const claimed = (await configMap()) !== before
        await sleep(EXPIRY_MS + BLUR_MS)
        expect(await armed(), `killed after ${atMs} ms: ${err}`).toEqual([])
        expect(await faulted(), `killed after ${atMs} ms`).toEqual([])
        const restored = await stage.squall('experiment', 'restore', '-n', 'shop')
        expect(restored.ok, restored.text).toBe(true)
        expect(await configMap(), `killed after ${atMs} ms`).toBe(before)
        note(
          `killed after ${atMs} ms, ${claimed ? 'with' : 'without'} a claim: ${restored.out.trim()}`,
        )
      }
    },
    30_000 + 45_000 * KILLS,
  )
})

function explain(): void {
  onTestFailed(async () => {
    note(await stage.kubectl('-n', 'shop', 'get', 'pods,cm', '-o', 'wide').catch(String))
  })
}

interface Run {
  readonly child: ChildProcess
  readonly ended: Promise<{ code: number | null; out: string; err: string }>
}

function start(path: string, ...more: readonly string[]): Run {
  const kept = ['--experiments', join(directory, 'out'), '--state-dir', join(directory, 'state')]
  const access = ['--kubeconfig', installed.cluster.kubeconfig]
  const child = stage.squallChild('experiment', 'run', path, ...access, ...kept, ...more)
  const text = { out: '', err: '' }
  child.stdout?.on('data', (part) => (text.out += String(part)))
  child.stderr?.on('data', (part) => (text.err += String(part)))
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...text }))
  return { child, ended }
}

async function plan(changes: object, expiryMs = EXPIRY_MS): Promise<string> {
  const path = join(directory, 'plan.yaml')
  const whole = {
    name: 'counting',
    target: { url: `http://${address}:3000/mcp`, environment: 'staging' },
    sidecar: {
      kubernetes: { namespace: 'shop', deployment: 'counting' },
      expiry: `${expiryMs}ms`,
    },
    steadyState: { errors: '10%', for: '2s', within: '1m' },
    rules: [{ name: 'broken', match: { tool: 'work' }, faults: [{ abort: { toolError: 'no' } }] }],
    load: { clients: CLIENTS, rate: 30, tools: ['work'] },
    abortOn: { errors: '90%' },
    ...changes,
  }
  await writeFile(path, JSON.stringify(whole))
  return path
}

function rules(): Promise<string> {
  return stage
    .kubectl('-n', 'shop', 'get', 'cm', 'squall-rules', '-o', 'jsonpath={.data}')
    .then((text) => JSON.parse(text)['rules.yaml'] as string)
}

/** The ConfigMap without what the API server notes of each write. */
async function configMap(): Promise<string> {
  const text = await stage.kubectl('-n', 'shop', 'get', 'cm', 'squall-rules', '-o', 'json')
  const found = JSON.parse(text) as { metadata: Record<string, unknown> }
  const { resourceVersion: _, managedFields: __, ...metadata } = found.metadata
  return JSON.stringify({ ...found, metadata })
}

/** The rules that may act now, in any pod. */
async function armed(): Promise<readonly string[]> {
  const { out } = await stage.squall('status', '-n', 'shop', '--json')
  const { pods } = JSON.parse(out) as { pods: { rules: { name: string; phase: string }[] }[] }
  return pods
    .flatMap((pod) => pod.rules)
    .flatMap(({ name, phase }) => (phase === 'on' ? [name] : []))
}

/** Has the kubelet read the ConfigMap at once, by a changed annotation, and waits until all sidecars have. */
async function delivered(result: 'absent' | 'applied'): Promise<void> {
  const annotation = `example.com/rules=${result}`
  const pods = ['pods', '-l', 'app=counting']
  await stage.kubectl('-n', 'shop', 'annotate', '--overwrite', ...pods, annotation)
  await expect.poll(reloads, POLL).toEqual([result])
}

/** Returns the results of the last reloads of all sidecars, each once. */
async function reloads(): Promise<readonly string[]> {
  const { out } = await stage.squall('status', '-n', 'shop', '--json')
  const { pods } = JSON.parse(out) as { pods: { state: { lastReload: { result: string } } }[] }
  return [...new Set(pods.map(({ state }) => state.lastReload.result))]
}

/** Calls the servers, and returns the markers of faults in the responses. */
async function faulted(): Promise<readonly string[]> {
  const calls = Array.from({ length: CALLS }, () =>
    outside.post(`http://${address}:3000/mcp`, 'work'),
  )
  return (await Promise.all(calls)).flatMap(({ marker }) => marker ?? [])
}

/** Deletes a pod, and sets how many there are. */
async function replacePods(replicas: number): Promise<void> {
  const [first] = await stage.pods('shop', 'app=counting')
  await stage.kubectl('-n', 'shop', 'delete', 'pod', nameOf(first!), '--wait=false')
  await stage.kubectl('-n', 'shop', 'scale', 'deploy/counting', `--replicas=${replicas}`)
}

/** Follows the logs of pods that are new. */
async function followAll(): Promise<void> {
  for (const pod of await stage.pods('shop', 'app=counting')) {
    const isRunning = pod.status.containerStatuses?.some(({ ready }) => ready) === true
    if (!isRunning || logs.has(nameOf(pod))) continue
    logs.set(nameOf(pod), stage.followLog('shop', nameOf(pod), 'server'))
  }
}

/** The times of all calls that reached a server, in milliseconds since the epoch. */
async function callTimes(): Promise<readonly number[]> {
  const alive = new Set((await stage.pods('shop', 'app=counting')).map(nameOf))
  const texts = await Promise.all(
    [...logs].map(([pod, log]) =>
      alive.has(pod) ? stage.kubectl('-n', 'shop', 'logs', pod, '-c', 'server') : log,
    ),
  )
  return texts.flatMap((text) => [...text.matchAll(/^call (\d+)$/gm)].map(([, at]) => Number(at)))
}
