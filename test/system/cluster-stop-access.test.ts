// part: cluster
import { readFileSync } from 'node:fs'
import { once } from 'node:events'
import { parse } from 'yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { failing } from '../live/rules-directory.ts'
import {
  type Installed,
  missingForCluster,
  note,
  POLL,
  RELEASE,
  ROLLOUT,
  since,
} from './cluster/installed.ts'
import { NAMESPACE } from './helm.ts'
import { narrowUser, type RoleRule } from './cluster/narrow-user.ts'
import type { Stage } from './cluster/stage.ts'
import { callPods, loosePod, smallServers, unstoppable } from './cluster/workloads.ts'
import { SQUALL_IMAGE } from './pod-images.ts'
import { startCluster } from '../support/cluster.ts'

// Ways to the sidecars that are closed, and rights that are missing. The tests are one story.
const PODS = 2
const WAIT = '--timeout=60s'
const GUIDE = new URL('../../docs/guides/cluster-cli.md', import.meta.url)
const PROXIED: RoleRule = { apiGroups: [''], resources: ['pods/proxy'], verbs: ['get'] }
const FORWARDED: RoleRule = {
  apiGroups: [''],
  resources: ['pods/portforward'],
  verbs: ['get', 'create'],
}
const CLOSED = [
  'add table inet closed',
  'add chain inet closed out { type filter hook output priority 0; }',
  'add rule inet closed out tcp dport 15390 drop',
].join('\n')

const BOTH_ARMED = /^true: [^]*(small-\S+ +port +armed +1[^]*){2}/

let installed: Installed
let stage: Stage

describe.skipIf(missingForCluster() !== undefined)('squall stop with few rights', () => {
  beforeAll(async () => {
    installed = await startCluster('installed')
    stage = installed.stage
    await installed.cluster.kubectl(['-n', 'shop', 'apply', '-f', '-'], smallServers('small', PODS))
    await stage.kubectl('-n', 'shop', 'rollout', 'status', 'deploy/small', ROLLOUT)
    const rules = failing('broken', 'get_weather')
    const { ok, text } = await stage.squallWith(rules, 'apply', '-f', '-', '-n', 'shop')
    if (!ok) throw new Error(text)
  }, 480_000)

  afterAll(() => installed?.cluster.close(), 60_000)

  /** The Role that the guide shows. */
  function documented(): readonly RoleRule[] {
    const blocks = [...readFileSync(GUIDE, 'utf8').matchAll(/```yaml\n(.*?)```/gs)]
    const role = blocks.map(([, text]) => text!).find((text) => text.includes('kind: Role\n'))!
    return (parse(role) as { readonly rules: readonly RoleRule[] }).rules
  }

  function as(name: string, ...rules: readonly RoleRule[]): Promise<string> {
    return narrowUser(installed.cluster, 'shop', name, rules)
  }

  /** Returns the status of the pods; the machine may be too busy for its time limit. */
  async function seen(...access: readonly string[]): Promise<string> {
    const { ok, text } = await stage.squall('status', '-n', 'shop', ...access)
    return `${ok}: ${text}`
  }

  test('asks by port-forward without the right to use the proxy', async () => {
    const kubeconfig = await as('forwarder', ...documented(), FORWARDED)
    await expect.poll(() => seen('--kubeconfig', kubeconfig), POLL).toMatch(BOTH_ARMED)
  })

  test('asks by port-forward where the API server does not reach the pods', async () => {
    const { namespaces } = installed.cluster
    const closed = await namespaces.inside('nft', ['-f', '-'], { input: `${CLOSED}\n` })
    expect(closed.ok, closed.text).toBe(true)
    const begun = performance.now()
    try {
      await expect.poll(() => seen(), POLL).toMatch(BOTH_ARMED)
    } finally {
      await namespaces.inside('nft', ['delete', 'table', 'inet', 'closed'])
    }
    note(`status of ${PODS} pods by port-forward after ${since(begun)}`)
  })

  test('writes the stop key by the documented Role, and names who has not confirmed', async () => {
    const kubeconfig = await as('stopper', ...documented())
    const { ok, text } = await stage.squall('stop', '-n', 'shop', '--kubeconfig', kubeconfig)
    expect(text).toContain('configmap squall-rules in shop: stopped')
    expect(text).toContain(`stopped: confirmed by 0 of ${PODS} pods`)
    expect(
      text.match(/shop\/small-\S+: unconfirmed, .*"pods\/proxy".*"pods\/portforward"/g),
    ).toHaveLength(PODS)
    expect(ok).toBe(false)
    const other = await stage.squall('stop', '-n', 'tight', '--kubeconfig', kubeconfig)
    expect(other.text).toContain('configmap squall-rules in tight: cannot patch configmaps')
    expect(other.ok).toBe(false)
    const resumed = await stage.squall('resume', '-n', 'shop')
    expect(resumed.ok, resumed.text).toBe(true)
  })

  test('says after Ctrl-C what was written, and ends with 130', async () => {
    // Pods that are not touched confirm late.
    const kubeconfig = await as('waiter', ...documented(), PROXIED)
    const child = stage.squallChild('stop', '-n', 'shop', '--kubeconfig', kubeconfig)
    let out = ''
    child.stdout?.on('data', (part) => (out += String(part)))
    let err = ''
    child.stderr?.on('data', (part) => {
      // A second signal would end the program at once.
      const wasWaiting = err.includes('waiting, ')
      err += String(part)
      if (!wasWaiting && err.includes('waiting, ')) child.kill('SIGINT')
    })
    const [code] = (await once(child, 'close')) as [number]
    expect(out).toContain('configmap squall-rules in shop: stopped')
    expect(out).toContain('interrupted: ')
    expect(out).toMatch(/shop\/small-\S+: waiting/)
    expect(code, err).toBe(130)
    const resumed = await stage.squall('resume', '-n', 'shop')
    expect(resumed.ok, resumed.text).toBe(true)
  })

  test('ends what is armed in a namespace that is labelled production later, and is not lifted there', async () => {
    const none = await stage.squall('stop', '--production')
    expect(none.text).toContain('no sidecar runs in a production namespace')
    expect(none.ok, none.text).toBe(true)
    const values = ['production.stop.enabled=true', 'production.stop.schedule=0 0 1 1 *']
    const set = values.flatMap((value) => ['--set', value])
    const { ok, text } = await stage.helm('upgrade', ...RELEASE, '--reuse-values', ...set)
    expect(ok, text).toBe(true)
    expect(await answers()).toEqual(['error: broken', 'error: broken'])
    await stage.kubectl('label', 'ns', 'shop', 'environment=production')
    const job = ['create', 'job', 'now', '--from=cronjob/squall-production-stop']
    await stage.kubectl('-n', NAMESPACE, ...job)
    await stage.kubectl('-n', NAMESPACE, 'wait', '--for=condition=Complete', 'job/now', WAIT)
    expect(await answers()).toEqual(['ok', 'ok'])
    const log = await stage.kubectl('-n', NAMESPACE, 'logs', 'job/now')
    expect(log).toContain('configmap squall-rules in shop: stopped')
    expect(log).toContain(`stopped: confirmed by ${PODS} of ${PODS} pods`)
    expect(log).not.toContain('warning')
    const version = (): Promise<string> =>
      stage.kubectl('-n', 'shop', 'get', 'cm', 'squall-rules', '-o', 'jsonpath={.metadata}')
    const before = await version()
    const again = await stage.squall('stop', '--production')
    expect(again.text).toContain('configmap squall-rules in shop: unchanged')
    expect(again.text).toContain(`stopped: confirmed by ${PODS} of ${PODS} pods`)
    expect(again.ok, again.text).toBe(true)
    expect(await version()).toBe(before)
    const resumed = await stage.squall('resume', '-n', 'shop')
    expect(resumed.text).toContain('the label environment of the namespace shop')
    expect(resumed.ok).toBe(false)
    await stage.kubectl('label', 'ns', 'shop', 'environment-')
    expect((await stage.squall('resume', '-n', 'shop')).ok).toBe(true)
    expect(await answers()).toEqual(['error: broken', 'error: broken'])
  })

  test('is done before helm uninstall, which fails while a sidecar stays armed', async () => {
    await stage.refusal('shop', unstoppable('manual'))
    await stage.kubectl('-n', 'shop', 'wait', '--for=condition=Ready', 'pod/manual', WAIT)
    expect(await answers()).toEqual(['error: broken', 'error: broken'])
    const begun = performance.now()
    const { ok, text } = await stage.helm('uninstall', 'squall', '-n', NAMESPACE)
    note(`helm uninstall failed after ${since(begun)}: ${text.trim()}`)
    expect(ok).toBe(false)
    const log = await stage.kubectl('-n', NAMESPACE, 'logs', 'job/squall-uninstall')
    expect(log).toContain('configmap squall-rules in shop: stopped')
    expect(log).toContain('shop/manual: rejected, does not read a ConfigMap')
    expect(log).not.toContain('warning')
    expect(await answers()).toEqual(['ok', 'ok'])
    expect((await stage.clusterWide()).join(' ')).not.toContain('squall-uninstall')
  })

  test('lets helm uninstall end attached sidecars, and remove everything', async () => {
    await stage.kubectl('-n', 'shop', 'delete', 'pod', 'manual', '--grace-period=1')
    expect(await stage.refusal('shop', loosePod('attached'))).toBe('')
    await stage.kubectl('-n', 'shop', 'wait', '--for=condition=Ready', 'pod/attached', WAIT)
    const image = ['--image', SQUALL_IMAGE, '--image-pull-policy', 'Never']
    const args = ['attach', 'attached', '-n', 'shop', '-f', '-', '--for', '10m', ...image]
    const match = '{ http: { path: /closed } }'
    const rules = `rules: [{ name: closed, match: ${match}, faults: [abort: { status: 503 }] }]\n`
    const attached = await stage.squallWith(rules, ...args)
    expect(attached.ok, attached.text).toBe(true)
    const ip = ['get', 'pod', 'attached', '-n', 'shop', '-o', 'jsonpath={.status.podIP}']
    const url = `http://${await stage.kubectl(...ip)}:3000/closed`
    expect(await stage.client().get(url)).toMatchObject({ status: 503 })
    const begun = performance.now()
    const { ok, text } = await stage.helm('uninstall', 'squall', '-n', NAMESPACE, '--wait')
    note(`helm uninstall ended after ${since(begun)}`)
    expect(ok, text).toBe(true)
    expect(await stage.client().get(url)).toMatchObject({ status: 404 })
    expect(await answers()).toEqual(['ok', 'ok'])
    await expect.poll(() => stage.clusterWide(), POLL).toEqual(installed.before)
    await expect
      .poll(() => stage.within(NAMESPACE), POLL)
      .toEqual(['configmap/kube-root-ca.crt', 'serviceaccount/default'])
  })

  async function answers(): Promise<readonly string[]> {
    const pods = await stage.pods('shop', 'app=small')
    return callPods(stage.client(), pods, 'get_weather')
  }
})
