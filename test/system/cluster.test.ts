// part: cluster
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import {
  armed,
  HEALTH,
  type Installed,
  missingForCluster,
  note,
  POLL,
  ROLLOUT,
  SERVERS,
  since,
  WEBHOOKS,
} from './cluster/installed.ts'
import { ASKS } from './cluster/questions.ts'
import {
  containers,
  early,
  nameOf,
  restarts,
  type RunningPod,
  status,
} from './cluster/running-pod.ts'
import type { OutsideClient, Stage } from './cluster/stage.ts'
import { example, loosePod } from './cluster/workloads.ts'
import { NAMESPACE } from './helm.ts'
import { startCluster } from '../support/cluster.ts'

// The way of docs/get-started/kubernetes.md from the chart to a fault, in a real cluster with one
// node. The tests are one story: each begins where the one before it has ended.
const WEATHER = ['get_weather', { city: 'Oslo' }] as const

let installed: Installed
let stage: Stage

describe.skipIf(missingForCluster() !== undefined)('a cluster', () => {
  beforeAll(async () => {
    installed = await startCluster('installed')
    stage = installed.stage
  }, 480_000)

  afterAll(() => installed?.cluster.close(), 60_000)

  async function serve(namespace: string, manifest: string): Promise<readonly RunningPod[]> {
    explain()
    const begun = performance.now()
    await installed.cluster.kubectl(['apply', '-f', '-'], manifest)
    await stage.kubectl('-n', namespace, 'rollout', 'status', 'deploy/mcp-server', ROLLOUT)
    note(`servers in ${namespace} ready after ${since(begun)}`)
    return stage.pods(namespace, SERVERS)
  }

  describe('with the chart installed', () => {
    test('has two webhooks, which run under restricted and are trusted', async () => {
      const pods = await stage.pods(NAMESPACE, WEBHOOKS)
      expect(pods.map(restarts)).toEqual([0, 0])
      const path = 'jsonpath={.webhooks[0].clientConfig.caBundle}'
      const bundle = await stage.kubectl('get', 'mutatingwebhookconfiguration/squall', '-o', path)
      expect(Buffer.from(bundle, 'base64').toString()).toContain('BEGIN CERTIFICATE')
    })

    test('refuses pods that ask for what there is not, or are in production', async () => {
      const wrong = { ...ASKS, 'squall.dev/max-procent': '5%' }
      expect(await stage.refusal('shop', loosePod('wrong', wrong))).toMatch(
        /squall\.dev\/max-procent.*squall\.dev\/max-percent/s,
      )
      expect(await stage.refusal('live', loosePod('asks', ASKS))).toContain(
        'squall.dev/allow-production: "true"',
      )
    })

    test('leaves a pod that asks for nothing as it was written', async () => {
      expect(await stage.refusal('shop', loosePod('plain'))).toBe('')
      const [plain] = await stage.pods('shop', 'app=plain')
      expect(containers(plain!)).toEqual(['app'])
      expect(early(plain!)).toEqual([])
      expect(plain!.metadata.annotations).toBeUndefined()
      await stage.kubectl('-n', 'shop', 'delete', 'pod', 'plain', '--wait=false')
    })
  })

  describe('a server with the annotation', () => {
    let clients: readonly OutsideClient[]
    let pods: readonly RunningPod[]

    test('comes with a native sidecar, in the mode redirect', async () => {
      pods = await serve('shop', await example('shop', HEALTH))
      expect(pods).toHaveLength(2)
      for (const pod of pods) {
        expect(status(pod)).toMatchObject({ mode: 'redirect', native: true })
        expect(early(pod)).toEqual(['squall-redirect', 'squall'])
        expect(containers(pod)).toEqual(['server'])
      }
    })

    test('fails calls as its ConfigMap says', async () => {
      clients = pods.map(() => stage.client())
      for (const [i, client] of clients.entries()) {
        const tools = await client.connect(`http://${pods[i]!.status.podIP}:3000/mcp`)
        expect(tools).toContain('get_weather')
      }
      const seen = new Set<string>()
      // One of ten fails.
      for (let call = 0; call < 200 && seen.size < 2; call++) {
        seen.add((await clients[0]!.call(...WEATHER)).replace(/:.*/s, ''))
      }
      expect([...seen].sort()).toEqual(['failed', 'ok'])
    })

    test('squall apply says when its rules are active, and then they are', async () => {
      explain()
      for (const rule of ['first', 'second', 'third']) {
        const begun = performance.now()
        const args = ['apply', '-f', '-', '-n', 'shop', '--json']
        const { ok, out, text } = await stage.squallWith(armed(rule), ...args)
        note(`active rules after ${since(begun)}`)
        // It takes a second or two. Kubelet by itself looks once a minute, so that three times in a
        // row are not luck.
        expect(performance.now() - begun).toBeLessThan(30_000)
        expect(ok, text).toBe(true)
        const calls = await Promise.all(clients.map((client) => client.call(...WEATHER)))
        expect(calls).toEqual([`error: ${rule}`, `error: ${rule}`])
        const reported = JSON.parse(out) as { pods: readonly { state: string; digest: string }[] }
        expect(reported.pods.map(({ state }) => state)).toEqual(['applied', 'applied'])
        expect(new Set(reported.pods.map(({ digest }) => digest)).size).toBe(1)
      }
    })

    test('squall status shows both, and what was matched', async () => {
      const { ok, out, text } = await stage.squall('status', '-n', 'shop', '--json')
      expect(ok, text).toBe(true)
      const reported = JSON.parse(out) as {
        pods: readonly { pod: string; mode: string; digestIs: string; sampled: number }[]
      }
      expect(reported.pods).toMatchObject(
        pods.map((pod) => ({
          pod: nameOf(pod),
          mode: 'redirect',
          digestIs: 'current',
          sampled: 1,
        })),
      )
    })

    test('meets its faults by the Service and by port-forward, too', async () => {
      const address = await stage.service('shop', 'mcp-server')
      const fault = { status: 503, marker: expect.stringContaining('no-health') as string }
      expect(await clients[0]!.get(`http://${address}:3000/executed`)).toMatchObject(fault)
      const forward = await stage.portForward('shop', 'deploy/mcp-server', 3000)
      const near = `http://127.0.0.1:${forward.port}/executed`
      expect(await clients[0]!.get(near)).toMatchObject(fault)
      await forward.end()
    })

    test('is probed by kubelet beside the faults: it keeps running, where others are restarted', async () => {
      explain()
      const careless = { ...ASKS, 'squall.dev/rewrite-probes': 'false' }
      expect(await stage.refusal('shop', loosePod('careless', careless, HEALTH))).toBe('')
      const again = async (): Promise<number> =>
        restarts((await stage.pods('shop', 'app=careless'))[0]!)
      await expect.poll(again, POLL).toBeGreaterThan(0)
      await stage.kubectl('-n', 'shop', 'delete', 'pod', 'careless', '--wait=false')
      const now = await stage.pods('shop', SERVERS)
      expect(now.map(nameOf)).toEqual(pods.map(nameOf))
      for (const pod of now) {
        expect(restarts(pod)).toBe(0)
        expect(pod.status.containerStatuses!.every(({ ready }) => ready)).toBe(true)
      }
    })

    test('ends in order: no fault any more, calls end well, then the sidecar', async () => {
      explain()
      const slow = `rules: [{ name: slow, match: { tool: get_weather }, faults: [delay: { fixed: 60s, at: response }] }]\n`
      const { ok, text } = await stage.squallWith(slow, 'apply', '-f', '-', '-n', 'shop')
      expect(ok, text).toBe(true)
      const name = nameOf(pods[0]!)
      const log = stage.followLog('shop', name, 'squall')
      const under = clients[0]!.call(...WEATHER)
      await expect.poll(() => sampledOf('slow'), POLL).toBe(1)
      const begun = performance.now()
      await stage.kubectl('-n', 'shop', 'delete', 'pod', name)
      note(`a pod with a call under way ended after ${since(begun)}`)
      // The rule would hold it for a minute, and who is killed says nothing of having stopped.
      expect(await under).toMatch(/^ok: .*Oslo/)
      const lines = await log
      const places = ['the pod is terminating', '"signal":"SIGTERM"', '"msg":"stopped"'].map(
        (marker) => lines.indexOf(marker),
      )
      expect(places[0]).toBeGreaterThan(-1)
      expect(places).toEqual(places.toSorted((one, other) => one - other))
    })

    async function sampledOf(rule: string): Promise<number> {
      const { out } = await stage.squall('status', '-n', 'shop', '--json')
      const reported = JSON.parse(out) as {
        pods: readonly { rules: readonly { name: string; sampled: number }[] }[]
      }
      const all = reported.pods.flatMap(({ rules }) => rules.filter(({ name }) => name === rule))
      return all.reduce((sum, { sampled }) => sum + sampled, 0)
    }
  })

  describe('where Pod Security enforces restricted', () => {
    test('a server comes in the mode port, and its Service leads to the sidecar', async () => {
      const pods = await serve('tight', await example('tight'))
      const { ok, text } = await stage.squallWith(armed('tight'), 'apply', '-f', '-', '-n', 'tight')
      expect(ok, text).toBe(true)
      for (const pod of pods) {
        expect(status(pod)).toMatchObject({ mode: 'port', native: true })
        expect(early(pod)).toEqual(['squall'])
      }
      const client = stage.client()
      const place = `http://${await stage.service('tight', 'mcp-server')}:3000/executed`
      await expect.poll(() => client.get(place), POLL).toMatchObject({ status: 503 })
      // A request to the pod's own port bypasses the sidecar, as the documents say.
      const own = `http://${pods[0]!.status.podIP}:3000/executed`
      expect(await client.get(own)).toEqual({ status: 200, marker: null, text: '{}' })
    })

    test('the mode redirect is denied, with what to write instead', async () => {
      const option = { ...ASKS, 'squall.dev/mode': 'redirect' }
      expect(await stage.refusal('tight', loosePod('redirected', option))).toMatch(
        /redirect cannot be used: the namespace enforces.*squall\.dev\/mode/s,
      )
    })
  })
})

/** A failure shows what the parts of the cluster and its pods say. */
function explain(): void {
  onTestFailed(async () => {
    note(await installed.cluster.lastLogs())
    note(await stage.kubectl('get', 'pods,events', '-A').catch(String))
  })
}
