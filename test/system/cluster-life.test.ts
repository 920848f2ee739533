// part: cluster
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Installed,
  missingForCluster,
  note,
  POLL,
  RELEASE,
  ROLLOUT,
  SERVERS,
  since,
  WEBHOOKS,
  webhookReady,
} from './cluster/installed.ts'
import { ASKS } from './cluster/questions.ts'
import { early, restarts } from './cluster/running-pod.ts'
import type { Stage } from './cluster/stage.ts'
import { example, loadJob, loosePod, shortJob } from './cluster/workloads.ts'
import { NAMESPACE } from './helm.ts'
import { startCluster } from '../support/cluster.ts'

// Covers the later life of an installation, in a real cluster: upgrades, outages, Jobs, and its
// end. The tests are one story.
const REFUSED = 'failed calling webhook "inject.squall.dev"'

let installed: Installed
let stage: Stage

describe.skipIf(missingForCluster() !== undefined)('an installation', () => {
  beforeAll(async () => {
    installed = await startCluster('installed')
    stage = installed.stage
    await installed.cluster.kubectl(['apply', '-f', '-'], await example('tight'))
  }, 480_000)

  afterAll(() => installed?.cluster.close(), 60_000)

  async function completed(job: string): Promise<void> {
    const wait = ['-n', 'shop', 'wait', '--for=condition=complete', `job/${job}`, ROLLOUT]
    await stage.kubectl(...wait)
  }

  test('is upgraded without a gap: pods that ask are never denied', async () => {
    const responses: string[] = []
    const over = new AbortController()
    const asking = (async () => {
      while (!over.signal.aborted) responses.push(await stage.wouldRefuse())
    })()
    const begun = performance.now()
    const set = ['--set', 'webhook.podAnnotations.again=yes']
    const { ok, text } = await stage.helm('upgrade', ...RELEASE, ...set)
    await webhookReady(stage)
    const old = async (): Promise<number> =>
      (await stage.kubectl('get', 'pods', '-n', NAMESPACE, '-l', WEBHOOKS, '-o', 'name'))
        .trim()
        .split('\n').length
    await expect.poll(old, POLL).toBe(2)
    over.abort()
    await asking
    expect(ok, text).toBe(true)
    note(`upgraded in ${since(begun)}, with ${responses.length} pods asked for meanwhile`)
    expect(responses.length).toBeGreaterThan(5)
    expect([...new Set(responses)]).toEqual([''])
  })

  test('that cannot read namespaces leaves it to the cluster to refuse', async () => {
    const set = ['--set', 'webhook.readNamespaces=false']
    const { ok, text } = await stage.helm('upgrade', ...RELEASE, ...set)
    expect(ok, text).toBe(true)
    await webhookReady(stage)
    // Replicas of before have lost a right that they need.
    await expect.poll(() => stage.wouldRefuse(), POLL).toBe('')
    const insecure = (): Promise<string> => stage.wouldRefuse('tight')
    await expect.poll(insecure, POLL).toContain('violates PodSecurity "restricted:latest"')
    expect(await stage.refusal('tight', loosePod('redirected', ASKS))).toContain('squall-redirect')
    const policy = /ValidatingAdmissionPolicy.*counts as production/
    await expect.poll(() => stage.wouldRefuse('live'), POLL).toMatch(policy)
    expect(await stage.refusal('live', loosePod('asks', ASKS))).toMatch(policy)
  })

  test('has Jobs that end, although their sidecars would not', async () => {
    expect(await stage.refusal('shop', shortJob('short', ASKS))).toBe('')
    await completed('short')
    const [pod] = await stage.pods('shop', 'job-name=short')
    expect(early(pod!)).toContain('squall')
    expect(pod!.status.phase).toBe('Succeeded')
  })

  test('is put under load by the Job of the examples, through the Service', async () => {
    await stage.kubectl('-n', 'tight', 'rollout', 'status', 'deploy/mcp-server', ROLLOUT)
    const target = `http://${await stage.service('tight', 'mcp-server')}:3000/mcp`
    expect(await stage.refusal('shop', await loadJob(target))).toBe('')
    await completed('squall-load')
    const parts = await stage.pods('shop', 'app.kubernetes.io/name=squall-load')
    expect(parts).toHaveLength(4)
    const files: string[] = []
    for (const { metadata } of parts) {
      const file = join(installed.cluster.namespaces.directory, `${metadata.name}.json`)
      await writeFile(file, await stage.kubectl('-n', 'shop', 'logs', metadata.name))
      files.push(file)
    }
    const { ok, out, text } = await stage.squall('load', 'merge', ...files)
    expect(ok, text).toBe(true)
    const merged = JSON.parse(out) as {
      readonly counts: { readonly calls: number }
      readonly faults: readonly object[]
      readonly errors: readonly { readonly origin: string }[]
    }
    // 40 a second for 4 seconds, less while it ramps up.
    expect(merged.counts.calls).toBeGreaterThan(120)
    expect(merged.faults.length).toBeGreaterThan(0)
    expect(merged.errors.filter(({ origin }) => origin !== 'injected')).toEqual([])
  })

  test('is away: pods that ask are denied, and all others are made', async () => {
    const wouldRefuse = (): Promise<string> => stage.wouldRefuse()
    await stage.kubectl('-n', NAMESPACE, 'scale', 'deployment/squall', '--replicas=0')
    await expect.poll(() => stage.pods(NAMESPACE, WEBHOOKS), POLL).toEqual([])
    await expect.poll(wouldRefuse, POLL).toContain(REFUSED)
    expect(await stage.refusal('shop', loosePod('other'))).toBe('')
    await stage.kubectl('-n', NAMESPACE, 'scale', 'deployment/squall', '--replicas=2')
    await webhookReady(stage)
    await expect.poll(wouldRefuse, POLL).toBe('')
  })

  test('leaves nothing in the cluster when it goes, and what was injected serves on', async () => {
    const { ok, text } = await stage.helm('uninstall', 'squall', '-n', NAMESPACE, '--wait')
    expect(ok, text).toBe(true)
    await expect.poll(() => stage.clusterWide(), POLL).toEqual(installed.before)
    await expect
      .poll(() => stage.within(NAMESPACE), POLL)
      .toEqual(['configmap/kube-root-ca.crt', 'serviceaccount/default'])
    await expect.poll(() => stage.wouldRefuse(), POLL).toBe('')
    expect(await stage.refusal('shop', loosePod('after', ASKS))).toBe('')
    const servers = await stage.pods('tight', SERVERS)
    expect(servers.map(restarts)).toEqual([0, 0])
    const place = `http://${await stage.service('tight', 'mcp-server')}:3000/executed`
    expect(await stage.client().get(place)).toMatchObject({ status: 200 })
  })
})
