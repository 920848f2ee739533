// part: cluster
import { rm, writeFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectKube } from '../../packages/kubernetes/src/kube/connect.ts'
import type { KubeClient } from '../../packages/kubernetes/src/kube/kube-client.ts'
import { CONFIG_MAPS, NODES, PODS } from '../../packages/kubernetes/src/kube/resources.ts'
import { fieldsOf, textsOf } from '../../src/base/values.ts'
import { STOP_KEY } from '../../src/rules/guard/stop-key.ts'
import { injectedPod } from '../../packages/kubernetes/test/kube/shop.ts'
import { failing, mountRules, type MountedRules } from '../live/rules-directory.ts'
import { startCluster } from '../support/cluster.ts'
import { responding } from '../support/http-app.ts'
import { call, callMessage } from '../support/http-call.ts'
import { type Finished, startProgram } from '../support/program.ts'
import { startSquall, type Squall } from '../support/squall.ts'
import { startUpstream } from '../support/upstream.ts'
import { type ApiServer, apiServerMissing } from './api-server-process.ts'

// A real API server is killed at ten moments of each command. Sidecars run in this process; a loop
// plays the kubelet, which needs the API server as well.
const MOMENTS_MS = [0, 250, 350, 450, 550, 650, 750, 900, 1_200, 2_000]
const TIMEOUT_MS = 40_000
/** The command ends this long after its time, with the start of its process. */
const LATE_MS = 3_000
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
  const over = new AbortController()
  const pods: Played[] = []
  let id = 0

  async function addPod(name: string, upstream: number): Promise<void> {
    const mounted = await mountRules('# none yet\n')
    const flags = ['--upstream', `http://127.0.0.1:${upstream}`, '--admin', `${host}:0`]
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
    server = await startCluster('control-plane')
    const { kubeconfig } = server
    client = connectKube({ kubeconfig, context: undefined, env: {}, version: 'test' })
    await client.create({ kind: NODES }, { metadata: { name: 'n-1' } })
    await setStatus('nodes/n-1', { conditions: [{ type: 'Ready', status: 'True' }] })
    const upstream = await startUpstream(responding('fine'))
    await addPod('shop-1', upstream.port)
    await addPod('shop-2', upstream.port)
    kubelet = playKubelet()
  }, 120_000)

  afterAll(async () => {
    over.abort()
    await kubelet
    for (const { squall } of pods) await squall.close()
    await client?.close()
    await server?.close()
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
        const { text } = await call(target, callMessage(++id, 'probe'))
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
      const rules = failing(`broken-${afterMs}`)
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
})
