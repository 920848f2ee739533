// part: cluster
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { failing } from '../live/rules-directory.ts'
import { type Installed, missingForCluster, POLL, ROLLOUT } from './cluster/installed.ts'
import { ASKS } from './cluster/questions.ts'
import { nameOf, type RunningPod } from './cluster/running-pod.ts'
import type { Stage } from './cluster/stage.ts'
import { workload } from './cluster/workloads.ts'
import { startCluster } from '../support/cluster.ts'

// Rules for some of the pods that read a ConfigMap, and for a time, in a real cluster. The tests
// are one story. Before, `squall apply -l app=a` armed b as well, and `for: 20s` began again in
// every new pod.

let installed: Installed
let stage: Stage

describe.skipIf(missingForCluster() !== undefined)('rules in a cluster', () => {
  beforeAll(async () => {
    installed = await startCluster('installed')
    stage = installed.stage
    for (const name of ['a', 'b']) {
      expect(await stage.refusal('shop', workload(name, ASKS))).toBe('')
    }
    for (const name of ['a', 'b']) await ready(name)
  }, 480_000)

  afterAll(() => installed?.cluster.close(), 60_000)

  async function ready(name: string): Promise<void> {
    await stage.kubectl('-n', 'shop', 'rollout', 'status', `deploy/${name}`, ROLLOUT)
  }

  async function apply(rules: string, ...args: readonly string[]): Promise<string> {
    const { ok, text } = await stage.squallWith(rules, 'apply', '-f', '-', '-n', 'shop', ...args)
    expect(ok, text).toBe(true)
    return text
  }

  const podsOf = (name: string): Promise<readonly RunningPod[]> => stage.pods('shop', `app=${name}`)

  /** Counts the calls to a pod that a fault affected. */
  async function touched(pod: RunningPod, calls: number): Promise<number> {
    const url = `http://${pod.status.podIP}:3000/mcp`
    return (await installed.cluster.user(process.execPath, ['-e', COUNT, url, String(calls)])).out
      .trim()
      .split(' ')
      .map(Number)
      .reduce((sum, count, index) => {
        if (index === 0) expect(count).toBe(calls)
        return index === 1 ? count : sum
      }, -1)
  }

  test('for pods with a label touch none of 10,000 calls to other pods', async () => {
    const text = await apply(failing('only-a', 'get_weather'), '-l', 'app=a')
    expect(text).toMatch(/acts in a-\S+\n {2}not in b-\S+: podLabels\.app expected "a", got b\n/)
    const [[a], [b]] = [await podsOf('a'), await podsOf('b')]
    expect(await touched(a!, 100)).toBe(100)
    // Kubelet brings the same text to b: only then does this say something.
    await stage.kubectl('-n', 'shop', 'annotate', 'pod', nameOf(b!), 'look=now')
    await expect.poll(() => rulesOf(b!), POLL).toContain('"other_pod"')
    expect(await touched(b!, 10_000)).toBe(0)
  })

  async function rulesOf(pod: RunningPod): Promise<string> {
    const path = `/api/v1/namespaces/shop/pods/${nameOf(pod)}:15390/proxy/api/rules`
    return stage.kubectl('get', '--raw', path)
  }

  test('follow a label that changes, without a restart', async () => {
    const [b] = await podsOf('b')
    await stage.kubectl('-n', 'shop', 'label', 'pod', nameOf(b!), 'app=a', '--overwrite')
    await expect.poll(() => touched(b!, 1), POLL).toBe(1)
    await stage.kubectl('-n', 'shop', 'delete', 'pod', nameOf(b!), '--wait=false')
    await ready('b')
  })

  test('that have expired touch nothing in pods that come later', async () => {
    const rules = failing('brief', 'get_weather').replace('    faults', '    for: 3s\n    faults')
    await apply(rules, '-l', 'app=a')
    const [old] = await podsOf('a')
    await expect.poll(() => touched(old!, 20), POLL).toBe(0)
    await stage.kubectl('-n', 'shop', 'scale', 'deploy/a', '--replicas=2')
    await ready('a')
    await stage.kubectl('-n', 'shop', 'delete', 'pod', nameOf(old!), '--wait=false')
    const isReady = ({ status }: RunningPod): boolean => {
      const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
      return all.length > 1 && all.every((each) => each.ready)
    }
    await expect.poll(async () => (await podsOf('a')).map(isReady), POLL).toEqual([true, true])
    const pods = await podsOf('a')
    for (const pod of pods) {
      expect(nameOf(pod)).not.toBe(nameOf(old!))
      expect(await rulesOf(pod)).toContain('"expired"')
      expect(await touched(pod, 500)).toBe(0)
    }
    const restarts = async (): Promise<number> => {
      const pod = (await podsOf('a')).find((each) => nameOf(each) === nameOf(pods[0]!))
      const all = [
        ...(pod?.status.containerStatuses ?? []),
        ...(pod?.status.initContainerStatuses ?? []),
      ]
      const squall = all.find(({ name }) => name === 'squall')
      return squall?.ready === true ? squall.restartCount : -1
    }
    await stage
      .kubectl('-n', 'shop', 'exec', nameOf(pods[0]!), '-c', 'squall', '--', ...KILL)
      .catch(() => '')
    await expect.poll(restarts, POLL).toBe(1)
    expect(await rulesOf(pods[0]!)).toContain('"expired"')
    expect(await touched(pods[0]!, 500)).toBe(0)
    expect(await apply(rules, '-l', 'app=a')).toContain('unchanged')
    const { text } = await stage.squall('status', '-n', 'shop')
    expect(text).toMatch(/brief expired .*, applied /)
  })
})

/** Ends the sidecar as a crash would: kubelet starts its container again. */
const KILL = ['node', '-e', 'process.kill(1, "SIGTERM")']

/**
 * Calls a tool many times over a few connections; prints how many came back, and how many a fault
 * touched.
 */
const COUNT = `
const http = require('node:http')
const [url, wanted] = process.argv.slice(1)
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 })
let done = 0, hit = 0, sent = 0
const one = (headers, body) => new Promise((resolve) => {
  const request = http.request(url, { agent, method: 'POST', headers: {
    'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers } },
    (response) => {
      let text = ''
      response.on('data', (part) => (text += part))
      response.on('end', () => resolve({ headers: response.headers, text }))
      response.on('error', () => resolve({ headers: {}, text: '', failed: true }))
    })
  request.on('error', () => resolve({ headers: {}, text: '', failed: true }))
  request.end(JSON.stringify(body))
})
const main = async () => {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  const first = await one({}, { jsonrpc: '2.0', id: 0, method: 'initialize', params })
  const session = first.headers['mcp-session-id']
  const headers = { 'mcp-protocol-version': '2025-06-18', ...(session && { 'mcp-session-id': session }) }
  await one(headers, { jsonrpc: '2.0', method: 'notifications/initialized' })
  const worker = async () => {
    while (sent < Number(wanted)) {
      const id = ++sent
      const call = { name: 'get_weather', arguments: { city: 'Oslo' } }
      const got = await one(headers, { jsonrpc: '2.0', id, method: 'tools/call', params: call })
      if (!got.failed && got.text.includes('"jsonrpc"')) done++
      if (got.headers['x-squall-fault'] || got.text.includes('x-squall-fault')) hit++
    }
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  console.log(done, hit)
  agent.destroy()
}
main()
`
