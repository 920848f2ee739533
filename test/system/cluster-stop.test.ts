import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { failing } from '../live/rules-directory.ts'
import {
  install,
  type Installed,
  missingForCluster,
  note,
  ROLLOUT,
  SERVERS,
} from './cluster/installed.ts'
import { nameOf, type RunningPod } from './cluster/running-pod.ts'
import type { OutsideClient, Stage } from './cluster/stage.ts'
import { example } from './cluster/workloads.ts'

// One command, and no sidecar injects anything three seconds later. The tests
// are one story.
const PODS = 8
const LIMIT_MS = 3_000
const WEATHER = ['get_weather', { city: 'Oslo' }] as const
const FAULT = 'error: broken'

let installed: Installed
let stage: Stage

describe.skipIf(missingForCluster() !== undefined)('squall stop in a cluster', () => {
  let clients: readonly OutsideClient[]

  beforeAll(async () => {
    installed = await install()
    stage = installed.stage
    await installed.cluster.kubectl(['apply', '-f', '-'], await example('shop'))
    await scaleTo(PODS)
    const { ok, text } = await stage.squallWith(failing('broken', 'get_weather'), ...APPLY)
    if (!ok) throw new Error(text)
    const pods = await stage.pods('shop', SERVERS)
    clients = await Promise.all(pods.map((pod) => connected(pod)))
  }, 480_000)

  afterAll(() => installed?.cluster.close(), 60_000)

  const APPLY = ['apply', '-f', '-', '-n', 'shop'] as const

  async function scaleTo(pods: number): Promise<void> {
    await stage.kubectl('-n', 'shop', 'scale', 'deploy/mcp-server', `--replicas=${pods}`)
    await stage.kubectl('-n', 'shop', 'rollout', 'status', 'deploy/mcp-server', ROLLOUT)
  }

  async function connected(pod: RunningPod): Promise<OutsideClient> {
    const client = stage.client()
    await client.connect(`http://${pod.status.podIP}:3000/mcp`)
    return client
  }

  async function callAll(): Promise<readonly string[]> {
    const all = await Promise.all(clients.map((client) => client.call(...WEATHER)))
    return all.map((each) => each.replace(/^ok:.*/s, 'ok'))
  }

  const everywhere = (what: string): readonly string[] => clients.map(() => what)

  test('ends all faults within three seconds, under load, and who confirmed is said', async () => {
    expect(await callAll()).toEqual(everywhere(FAULT))
    const over = new AbortController()
    let last = 0
    let calls = 0
    const load = clients.map(async (client) => {
      while (!over.signal.aborted) {
        const text = await client.call(...WEATHER)
        calls++
        if (text === FAULT) last = Math.max(last, performance.now())
        await sleep(50)
      }
    })
    await sleep(500)
    const begun = performance.now()
    const { ok, out, text } = await stage.squall('stop', '-n', 'shop', '--json')
    const took = performance.now() - begun
    await sleep(1_000)
    over.abort()
    await Promise.all(load)
    note(`stopped ${PODS} pods in ${Math.round(took)} ms under ${calls} calls`)
    note(`the last fault came ${Math.round(last - begun)} ms after the command began`)
    expect(ok, text).toBe(true)
    const report = JSON.parse(out) as { pods: readonly { state: string; detail: string }[] }
    expect(report.pods.map(({ state }) => state)).toEqual(everywhere('stopped'))
    expect(report.pods[0]!.detail).toMatch(/disarmed by stopped \(squall stop by .+ at 20/)
    expect(last - begun).toBeLessThan(LIMIT_MS)
    expect(await callAll()).toEqual(everywhere('ok'))
  })

  test('holds for a pod that is made later, and for rules that are applied later', async () => {
    await scaleTo(PODS + 1)
    const pods = await stage.pods('shop', SERVERS)
    expect(pods).toHaveLength(PODS + 1)
    clients = await Promise.all(pods.map((pod) => connected(pod)))
    expect(await callAll()).toEqual(everywhere('ok'))
    const { ok, text } = await stage.squallWith(failing('broken', 'get_weather'), ...APPLY)
    expect(ok, text).toBe(true)
    expect(text).toContain('shop is stopped: no rule acts until squall resume -n shop')
    expect(await callAll()).toEqual(everywhere('ok'))
  })

  test('leaves a trace with the name of the user', async () => {
    const by = await get('cm/squall-rules', '{.metadata.annotations.squall\\.dev/applied-by}')
    expect(by).not.toBe('')
    const events = await get('events', '{.items[?(@.reason=="SquallStopped")].message}')
    expect(events).toContain(`squall stop for all pods by ${by}`)
  })

  test('is over with squall resume', async () => {
    const { ok, text } = await stage.squall('resume', '-n', 'shop')
    expect(ok, text).toBe(true)
    expect(text).toContain(`resumed: confirmed by ${PODS + 1} of ${PODS + 1} pods`)
    expect(await callAll()).toEqual(everywhere(FAULT))
  })

  test('with a selector stops those pods alone', async () => {
    const [one] = await stageNames()
    await stage.kubectl('-n', 'shop', 'label', 'pod', one!, 'canary=yes')
    const { ok, text } = await stage.squall('stop', '-n', 'shop', '-l', 'canary=yes')
    expect(ok, text).toBe(true)
    expect(text).toContain('stopped: confirmed by 1 of 1 pods')
    expect((await callAll()).toSorted()).toEqual([...everywhere(FAULT).slice(1), 'ok'])
    const resumed = await stage.squall('resume', '-A')
    expect(resumed.ok, resumed.text).toBe(true)
    expect(await callAll()).toEqual(everywhere(FAULT))
  })

  function get(what: string, path: string): Promise<string> {
    return stage.kubectl('-n', 'shop', 'get', what, '-o', `jsonpath=${path}`)
  }

  async function stageNames(): Promise<readonly string[]> {
    return (await stage.pods('shop', SERVERS)).map(nameOf)
  }
})
