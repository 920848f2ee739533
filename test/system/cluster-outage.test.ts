// part: cluster
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectKube } from '../../packages/kubernetes/src/kube/connect.ts'
import type { KubeClient } from '../../packages/kubernetes/src/kube/kube-client.ts'
import { CONFIG_MAPS, NODES, PODS } from '../../packages/kubernetes/src/kube/resources.ts'
import { fieldsOf, textsOf } from '../../src/base/values.ts'
import { STOP_KEY } from '../../src/rules/guard/stop-key.ts'
import { injectedPod } from '../support/cluster/shop.ts'
import { failing, mountRules, type MountedRules } from '../live/rules-directory.ts'
import { startCluster } from '../support/cluster.ts'
import { call, callMessage, startUpstream } from '../support/wire.ts'
import {
  type Finished,
  type Program,
  type Squall,
  startProgram,
  startSquall,
} from '../support/commands.ts'
import { type ApiServer, apiServerMissing } from './api-server-process.ts'

// A real API server is killed at ten moments of each command. Sidecars run in this process; a loop
// plays the kubelet, which needs the API server as well.
const MOMENTS_MS = [0, 250, 350, 450, 550, 650, 750, 900, 1_200, 2_000]
const TIMEOUT_MS = 40_000
/** The command ends this long after its time, with the start of its process. */
const LATE_MS = 3_000
/** An experiment claims the ConfigMap, runs one stage, and restores, in about ten seconds. */
const EXPERIMENT_MOMENTS_MS = [0, 500, 800, 1_100, 1_500, 2_000, 2_800, 3_600, 4_600, 6_000]
const EXPIRY_MS = 5_000
/** Faults may end this long after their rules expire. */
const BLUR_MS = 2_000
/** An experiment ends within this time, with an API server that needs some seconds to start. */
const EXPERIMENT_MS = 60_000
const NAMESPACE = 'default'
const RULES = { kind: CONFIG_MAPS, namespace: NAMESPACE, name: 'squall-rules' }

/** Returns an address of this machine: an API server does not pass requests on to loopback. */
function ownAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  return all.find(({ internal, family }) => !internal && family === 'IPv4')?.address
}

const host = ownAddress()
const missing = apiServerMissing() ?? (host === undefined ? 'no address but loopback' : undefined)
if (missing !== undefined) process.stderr.write(`outages are left out: ${missing}\n`)

interface Played {
  readonly squall: Squall
  readonly mounted: MountedRules
}

describe.skipIf(missing !== undefined)('an API server that is killed', () => {
  let server: ApiServer
  let client: KubeClient
  let kubelet: Promise<void>
  let directory: string
  const over = new AbortController()
  const pods: Played[] = []
  let id = 0

  async function addPod(name: string, upstream: number): Promise<void> {
    const mounted = await mountRules('# none yet\n')
    const labels = join(directory, 'labels')
    await writeFile(labels, 'app="shop"\n')
    const flags = ['--upstream', `http://127.0.0.1:${upstream}`, '--admin', `${host}:0`]
    flags.push('--environment', 'staging', '--pod-labels-file', labels)
    const squall = await startSquall(...flags, '--rules', mounted.directory)
    pods.push({ squall, mounted })
    const port = new URL(squall.admin).port
    const text = JSON.stringify(injectedPod(name, mounted.directory, {}, {}))
    const { metadata, spec } = JSON.parse(text.replaceAll('15390', port)) as Record<string, object>
    const body = { apiVersion: 'v1', kind: 'Pod', spec: { ...spec, nodeName: 'n-1' } }
    const kept = { ...metadata, namespace: NAMESPACE }
    await client.create({ kind: PODS, namespace: NAMESPACE }, { ...body, metadata: kept })
    const running = { name: 'squall', image: 'squall', imageID: '', ready: true, restartCount: 0 }
    const state = { running: { startedAt: new Date().toISOString() } }
    await setStatus(`namespaces/${NAMESPACE}/pods/${name}`, {
      phase: 'Running',
      podIP: host,
      podIPs: [{ ip: host }],
      initContainerStatuses: [{ ...running, state }],
    })
  }

  async function setStatus(path: string, status: object): Promise<void> {
    await client.request({
      method: 'PATCH',
      path: `/api/v1/${path}/status`,
      patch: 'merge',
      body: { status },
      what: 'set a status',
    })
  }

  /** Mounts each version of the ConfigMap, as long as the API server has one. */
  async function playKubelet(): Promise<void> {
    let last = ''
    while (!over.signal.aborted) {
      const found = await client.find(RULES, { timeoutMs: 1_000 }).catch(() => undefined)
      const data = textsOf(fieldsOf(found)['data'])
      const text = JSON.stringify(data)
      if (found !== undefined && text !== last) {
        for (const { mounted } of pods) {
          const stop = join(mounted.directory, STOP_KEY)
          if (fieldsOf(fieldsOf(found)['data'])[STOP_KEY] === undefined)
            await rm(stop, { force: true })
          else await writeFile(stop, data[STOP_KEY] ?? '')
          await mounted.swap(data['rules.yaml'])
        }
        last = text
      }
      await sleep(100)
    }
  }

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'squall-outage-'))
    server = await startCluster('control-plane')
    const { kubeconfig } = server
    client = connectKube({ kubeconfig, context: undefined, env: {}, version: 'test' })
    await client.create({ kind: NODES }, { metadata: { name: 'n-1' } })
    await setStatus('nodes/n-1', { conditions: [{ type: 'Ready', status: 'True' }] })
    const upstream = await startUpstream('scripted', () => 'ok')
    await addPod('shop-1', Number(upstream.url.port))
    await addPod('shop-2', Number(upstream.url.port))
    kubelet = playKubelet()
  }, 120_000)

  afterAll(async () => {
    over.abort()
    await kubelet
    for (const { squall } of pods) await squall.close()
    await client?.close()
    await server?.close()
    await rm(directory, { recursive: true, force: true })
  }, 60_000)

  /** Runs a command, and lets something happen after a time. */
  async function during(
    afterMs: number,
    happens: () => unknown,
    args: readonly string[],
    input = '',
  ): Promise<Finished> {
    const begun = performance.now()
    const access = ['--kubeconfig', server.kubeconfig, '-n', NAMESPACE]
    const program = startProgram(
      [...args, ...access, '--timeout', `${TIMEOUT_MS}ms`],
      {},
      { input },
    )
    await sleep(afterMs)
    await happens()
    const finished = await program.finished()
    expect(performance.now() - begun).toBeLessThan(TIMEOUT_MS + LATE_MS)
    return finished
  }

  /** Calls a tool through each sidecar. */
  async function calls(): Promise<readonly string[]> {
    return Promise.all(
      pods.map(async ({ squall }) => {
        const target = { port: squall.port, host: '127.0.0.1' }
        const { text } = await call(target, callMessage(++id, 'work'))
        return text.includes('broken') ? 'fault' : 'fine'
      }),
    )
  }

  async function follows(finished: Finished, expected: 'fault' | 'fine'): Promise<void> {
    // Confirmed faults and stops hold at once.
    expect(await calls(), finished.stdout).toEqual([expected, expected])
    expect(finished.stdout + finished.stderr).toContain('2 of 2 pods')
    expect(finished.code).toBe(0)
  }

  test.each(MOMENTS_MS)(
    'does not keep apply, stop and resume from their end when it dies after %i ms',
    async (afterMs) => {
      const restart = (): Promise<void> => server.restart()
      const rules = failing(`broken-${afterMs}`, 'work')
      await follows(await during(afterMs, restart, ['apply', '-f', '-'], rules), 'fault')
      await follows(await during(afterMs, restart, ['stop']), 'fine')
      await follows(await during(afterMs, restart, ['resume']), 'fault')
    },
  )

  test('does not keep squall stop from its end when it hangs with open connections', async () => {
    const freeze = async (): Promise<void> => {
      server.signal('SIGSTOP')
      await sleep(8_000)
      server.signal('SIGCONT')
    }
    await follows(await during(600, freeze, ['stop']), 'fine')
  })
  async function configMap(): Promise<object> {
    const { data, metadata } = await client.get(RULES)
    const { annotations, labels } = fieldsOf(metadata)
    return { data, annotations, labels }
  }

  async function startExperiment(): Promise<Program> {
    const rules = [
      { name: 'broken', match: { tool: 'work' }, faults: [{ abort: { toolError: 'broken' } }] },
    ]
    const plan = {
      name: 'outage',
      target: { url: `http://127.0.0.1:${pods[0]!.squall.port}/mcp`, environment: 'staging' },
      sidecar: {
        kubernetes: { namespace: NAMESPACE, selector: { app: 'shop' } },
        expiry: `${EXPIRY_MS}ms`,
      },
      steadyState: { errors: '1%', for: '300ms', within: '20s' },
      rules,
      stages: ['20%'],
      hold: '2s',
      load: { clients: 2, rate: 60, tools: ['work'] },
      abortOn: { errors: '90%' },
    }
    const path = join(directory, 'plan.yaml')
    await writeFile(path, JSON.stringify(plan))
    const kept = ['--experiments', join(directory, 'out'), '--state-dir', join(directory, 'state')]
    const access = ['--kubeconfig', server.kubeconfig]
    return startProgram(['experiment', 'run', path, '--json', ...access, ...kept])
  }

  /** Returns the sidecars that inject faults into some of many calls, as a stage of 20 % does. */
  async function faulted(): Promise<readonly number[]> {
    const rounds = await Promise.all(Array.from({ length: 20 }, calls))
    return [0, 1].filter((pod) => rounds.some((round) => round[pod] === 'fault'))
  }

  describe('an experiment', () => {
    let before: object

    beforeAll(async () => {
      // The tests before may leave the pods stopped, which every experiment respects.
      for (const [args, input] of [[['resume']], [['apply', '-f', '-'], 'rules: []\n']] as const) {
        const { code, stdout } = await during(0, () => {}, args, input)
        expect(code, stdout).toBe(0)
      }
      before = await configMap()
    })

    async function restore(): Promise<void> {
      const args = ['experiment', 'restore', '-n', NAMESPACE, '--kubeconfig', server.kubeconfig]
      const { code, stdout, stderr } = await startProgram(args).finished()
      expect(code, stdout + stderr).toBe(0)
      expect(await configMap()).toEqual(before)
      await expect.poll(faulted).toEqual([])
    }

    test('passes while the API server lives', async () => {
      const { stdout, stderr } = await (await startExperiment()).finished()
      const result = fieldsOf(JSON.parse(stdout || '{}'))
      expect(result, stderr).toMatchObject({ verdict: 'passed', restored: true })
      expect(await configMap()).toEqual(before)
    })

    test.each(EXPERIMENT_MOMENTS_MS)(
      'restores the rules when the API server dies after %i ms, or says that it did not',
      async (afterMs) => {
        const begun = performance.now()
        const program = await startExperiment()
        await sleep(afterMs)
        await server.restart()
        const { stdout, stderr } = await program.finished()
        const text = stdout + stderr
        const result = fieldsOf(JSON.parse(stdout || '{}'))
        expect(performance.now() - begun).toBeLessThan(EXPERIMENT_MS)
        if (result['restored'] === true) {
          expect(await faulted(), text).toEqual([])
          // The run may have ended before the API server died.
          await expect.poll(configMap, { message: text }).toEqual(before)
        } else {
          await sleep(EXPIRY_MS + BLUR_MS)
          expect(await faulted(), text).toEqual([])
        }
        await restore()
      },
    )

    test.each(EXPERIMENT_MOMENTS_MS)(
      'leaves no fault when it dies with the API server after %i ms',
      async (afterMs) => {
        const program = await startExperiment()
        await sleep(afterMs)
        program.signal('SIGKILL')
        await server.restart()
        await sleep(EXPIRY_MS + BLUR_MS)
        expect(await faulted()).toEqual([])
        await restore()
      },
    )
  })
})
