import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import type { ExperimentResult } from '../../src/lab/experiment/experiment-result.ts'
import { startCluster } from '../support/cluster.ts'
import { type Installed, missingForCluster, note, POLL, ROLLOUT } from './cluster/installed.ts'
import { nameOf } from './cluster/running-pod.ts'
import type { Stage } from './cluster/stage.ts'
import { APP_IMAGE } from './pod-images.ts'

// An experiment on a Deployment of three replicas, beside the log of the server. The tests are one story.
const KILLS = Number(process.env['SQUALL_TEST_KILLS'] ?? 4)
/** The longest time from the start of a runner to its death. */
const MOST_MS = 12_000
const CLIENTS = 6
const EXPIRY_MS = 5_000
const BLUR_MS = 2_000
const RULES = '# of the team\nrules: []\n'

let installed: Installed
let stage: Stage
let directory: string
let address: string
/** The logs of all pods that there ever were, by name. */
const logs = new Map<string, Promise<string>>()

describe.skipIf(missingForCluster() !== undefined)('an experiment on pods of a cluster', () => {
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'squall-experiment-pods-'))
    installed = await startCluster('installed')
    stage = installed.stage
    await installed.cluster.kubectl(['-n', 'shop', 'apply', '-f', '-'], manifests())
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

  test(`leaves nothing armed when its runner is killed, at ${KILLS} random moments`, async () => {
    explain()
    const before = await configMap()
    for (let kill = 0; kill < KILLS; kill++) {
      const run = start(await plan({ stages: ['25%'], hold: '1m' }))
      const atMs = Math.round(Math.random() * MOST_MS)
      await sleep(atMs)
      run.child.kill('SIGKILL')
      const { err } = await run.ended
      const claimed = (await configMap()) !== before
      await sleep(EXPIRY_MS + BLUR_MS)
      expect(await armed(), `killed after ${atMs} ms: ${err}`).toEqual([])
      const restored = await stage.squall('experiment', 'restore', '-n', 'shop')
      expect(restored.ok, restored.text).toBe(true)
      expect(await configMap(), `killed after ${atMs} ms`).toBe(before)
      note(
        `killed after ${atMs} ms, ${claimed ? 'with' : 'without'} a claim: ${restored.out.trim()}`,
      )
    }
  })
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

/** A server of MCP that writes the time of each call to its log. */
const SERVER = `
const tools = [{ name: 'work', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }]
const results = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'counting', version: '1' } }),
  'tools/list': () => ({ tools }),
  'tools/call': () => (console.log('call ' + Date.now()), { content: [{ type: 'text', text: 'fine' }] }),
}
require('node:http').createServer((request, response) => {
  let body = ''
  request.on('data', (part) => (body += part)).on('end', () => {
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method, params } = JSON.parse(body)
    if (id === undefined) return response.writeHead(202).end()
    response.setHeader('content-type', 'application/json')
    const result = results[method]?.(params)
    const error = { code: -32601, message: 'no such method' }
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) }))
  })
}).listen(3000, '::')`

function manifests(): string {
  const labels = { app: 'counting' }
  const annotations = { 'squall.dev/inject': 'true', 'squall.dev/environment': 'staging' }
  const server = {
    name: 'server',
    image: APP_IMAGE,
    imagePullPolicy: 'Never',
    command: ['node', '-e', SERVER],
    ports: [{ name: 'mcp', containerPort: 3000 }],
  }
  const spec = { terminationGracePeriodSeconds: 10, containers: [server] }
  const template = { metadata: { labels, annotations }, spec }
  const items = [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'squall-rules' },
      data: { 'rules.yaml': RULES },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'counting' },
      spec: { selector: labels, ports: [{ name: 'mcp', port: 3000, targetPort: 'mcp' }] },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'counting' },
      spec: { replicas: 3, selector: { matchLabels: labels }, template },
    },
  ]
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
}
