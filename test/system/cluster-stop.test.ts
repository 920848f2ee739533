// part: cluster
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { failing } from '../live/rules-directory.ts'
import { type Installed, missingForCluster, note, ROLLOUT, since } from './cluster/installed.ts'
import { nameOf, type RunningPod } from './cluster/running-pod.ts'
import type { OutsideClient, Stage } from './cluster/stage.ts'
import { callPods, smallServers } from './cluster/workloads.ts'
import { startCluster } from '../support/cluster.ts'
import { stalledMs } from '../support/stalls.ts'

// One command, and no sidecar injects anything three seconds later. The tests
// are one story.
const PODS = 20
const LIMIT_MS = 3_000
/** Pods that take this long for a call share their cores with much else, and stop later. */
const BUSY_MS = 50
const BUSY_LIMIT_MS = 20_000
const BETWEEN_CALLS_MS = 200
const TOOL = 'get_weather'
const FAULT = 'error: broken'
const NAMESPACES = ['shop', 'yard'] as const

let installed: Installed
let stage: Stage

describe.skipIf(missingForCluster() !== undefined)('squall stop in a cluster', () => {
  let pods: readonly RunningPod[]
  let client: OutsideClient

  beforeAll(async () => {
    installed = await startCluster('installed')
    stage = installed.stage
    await stage.kubectl('create', 'ns', 'yard')
    const begun = performance.now()
    await Promise.all(
      NAMESPACES.map(async (namespace) => {
        const servers = smallServers('small', namespace === 'shop' ? PODS : 1)
        await installed.cluster.kubectl(['-n', namespace, 'apply', '-f', '-'], servers)
        await ready(namespace)
        const { ok, text } = await applyTo(namespace)
        if (!ok) throw new Error(text)
      }),
    )
    note(`${PODS + 1} pods ready after ${since(begun)}`)
    client = stage.client()
    pods = await running()
  }, 480_000)

  afterAll(() => installed?.cluster.close(), 60_000)

  function ready(namespace: string): Promise<string> {
    return stage.kubectl('-n', namespace, 'rollout', 'status', 'deploy/small', ROLLOUT)
  }

  function applyTo(namespace: string): ReturnType<Stage['squall']> {
    return stage.squallWith(failing('broken', TOOL), 'apply', '-f', '-', '-n', namespace)
  }

  function running(namespace = 'shop'): Promise<readonly RunningPod[]> {
    return stage.pods(namespace, 'app=small')
  }

  const callAll = (): Promise<readonly string[]> => callPods(client, pods, TOOL)
  const everywhere = (what: string): readonly string[] => pods.map(() => what)

  test('is tried with --dry-run, which names pods and changes nothing', async () => {
    const { ok, text } = await stage.squall('stop', '-A', '--dry-run')
    expect(ok, text).toBe(true)
    expect(text).toContain('configmap squall-rules in shop: would be stopped')
    expect(text).toContain('configmap squall-rules in yard: would be stopped')
    expect(text.match(/small-\S+: skipped, would be stopped/g)).toHaveLength(PODS + 1)
    expect(await get('cm/squall-rules', '{.data}')).not.toContain('squall-stop')
    expect(await callAll()).toEqual(everywhere(FAULT))
  })

  test('ends all faults within three seconds, under load, and who confirmed is said', async () => {
    const over = new AbortController()
    let last = 0
    let calls = 0
    let spent = 0
    const load = pods.map(async (pod) => {
      while (!over.signal.aborted) {
        const from = performance.now()
        const [text] = await callPods(client, [pod], TOOL)
        spent += performance.now() - from
        calls++
        if (text === FAULT) last = Math.max(last, performance.now())
        await sleep(BETWEEN_CALLS_MS)
      }
    })
    await sleep(1_000)
    const begun = performance.now()
    const stalledBefore = stalledMs()
    const { ok, out, text } = await stage.squall('stop', '-n', 'shop', '--json')
    const stoppedIn = since(begun)
    await sleep(1_000)
    over.abort()
    await Promise.all(load)
    const callMs = spent / calls
    note(`stopped ${PODS} pods in ${stoppedIn}, under ${calls} calls of ${Math.round(callMs)} ms`)
    note(`the last fault came ${Math.round(last - begun)} ms after the command began`)
    expect(ok, text).toBe(true)
    const report = JSON.parse(out) as { pods: readonly { state: string; detail: string }[] }
    expect(report.pods.map(({ state }) => state)).toEqual(everywhere('stopped'))
    expect(report.pods[0]!.detail).toMatch(/disarmed by stopped \(squall stop by .+ at 20/)
    const lastAfter = last - begun - (stalledMs() - stalledBefore)
    expect(lastAfter).toBeLessThan(callMs < BUSY_MS ? LIMIT_MS : BUSY_LIMIT_MS)
    expect(await callAll()).toEqual(everywhere('ok'))
    const elsewhere = await callPods(client, await running('yard'), TOOL)
    expect(elsewhere).toEqual([FAULT])
  })

  test('holds for pods that are made later, and for rules that are applied later', async () => {
    await stage.kubectl('-n', 'shop', 'scale', 'deploy/small', `--replicas=${PODS + 2}`)
    await ready('shop')
    pods = await running()
    expect(pods).toHaveLength(PODS + 2)
    expect(await callAll()).toEqual(everywhere('ok'))
    const { ok, text } = await applyTo('shop')
    expect(ok, text).toBe(true)
    expect(text).toContain('shop is stopped: no rule acts until npx mcp-squall resume -n shop')
    expect(await callAll()).toEqual(everywhere('ok'))
  })

  test('leaves a trace with the name of the user', async () => {
    const by = await get('cm/squall-rules', '{.metadata.annotations.squall\\.dev/applied-by}')
    expect(by).not.toBe('')
    const events = await get('events', '{.items[?(@.reason=="SquallStopped")].message}')
    expect(events).toContain(`squall stop for all pods by ${by}`)
  })

  test('ends with squall resume', async () => {
    const { ok, text } = await stage.squall('resume', '-n', 'shop')
    expect(ok, text).toBe(true)
    expect(text).toContain(`resumed: confirmed by ${PODS + 2} of ${PODS + 2} pods`)
    expect(await callAll()).toEqual(everywhere(FAULT))
  })

  test('with a selector stops those pods alone', async () => {
    await stage.kubectl('-n', 'shop', 'label', 'pod', nameOf(pods[0]!), 'canary=yes')
    const { ok, text } = await stage.squall('stop', '-n', 'shop', '-l', 'canary=yes')
    expect(ok, text).toBe(true)
    expect(text).toContain('stopped: confirmed by 1 of 1 pods')
    expect(await callAll()).toEqual(['ok', ...everywhere(FAULT).slice(1)])
  })

  test('with -A stops every namespace that has sidecars', async () => {
    pods = [...pods, ...(await running('yard'))]
    const { ok, text } = await stage.squall('stop', '-A')
    expect(ok, text).toBe(true)
    expect(text).toContain('configmap squall-rules in yard: stopped')
    expect(text).toContain(`stopped: confirmed by ${PODS + 3} of ${PODS + 3} pods`)
    expect(text).toContain('to resume: npx mcp-squall resume -A')
    expect(await callAll()).toEqual(everywhere('ok'))
    const resumed = await stage.squall('resume', '-A')
    expect(resumed.ok, resumed.text).toBe(true)
    expect(await callAll()).toEqual(everywhere(FAULT))
  })

  function get(what: string, path: string): Promise<string> {
    return stage.kubectl('-n', 'shop', 'get', what, '-o', `jsonpath=${path}`)
  }
})
