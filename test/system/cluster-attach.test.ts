// part: cluster
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { armed, HEALTH, missingForCluster, note, POLL, since } from './cluster/installed.ts'
import type { CommandRun } from './cluster/namespaces.ts'
import { restarts, type RunningPod } from './cluster/running-pod.ts'
import type { OutsideClient } from './cluster/stage.ts'
import { loosePod } from './cluster/workloads.ts'
import { PATIENCE } from './patience.ts'
import { SIDECAR_IMAGE } from './pod-images.ts'
import { startCluster } from '../support/cluster.ts'

// A pod that was created without Squall, under calls all the time. The tests are one story.
const POD = 'target'
const WEATHER = ['get_weather', { city: 'Oslo' }] as const
const IMAGE = ['--image', SIDECAR_IMAGE, '--image-pull-policy', 'Never'] as const
const RULES = `${armed('attached')}  - name: closed\n    match: { http: { path: /closed } }\n    faults: [abort: { status: 503 }]\n`

interface AttachedPod extends RunningPod {
  readonly spec: NonNullable<RunningPod['spec']> & { ephemeralContainers?: readonly object[] }
  readonly status: RunningPod['status'] & {
    readonly ephemeralContainerStatuses?: readonly {
      readonly name: string
      readonly state: { readonly terminated?: { readonly message?: string } }
    }[]
  }
}

let bare: Awaited<ReturnType<typeof startCluster<'bare'>>>
let place: string
let steady: Caller
let fresh: Caller

describe.skipIf(missingForCluster() !== undefined)('a running pod', () => {
  beforeAll(async () => {
    bare = await startCluster('bare', 'shop', 'tight', 'live')
    const { stage } = bare
    const probed = { ...HEALTH, initialDelaySeconds: 1, failureThreshold: 40 }
    await stage.refusal('shop', loosePod(POD, undefined, probed))
    for (const namespace of ['tight', 'live']) await stage.refusal(namespace, loosePod(POD))
    const wait = ['wait', '--for=condition=Ready', '--timeout=110s', `pod/${POD}`]
    for (const namespace of ['shop', 'tight', 'live']) {
      await stage.kubectl('-n', namespace, ...wait)
    }
    place = `http://${(await target()).status.podIP}:3000`
    // A pod without a readiness probe counts as ready before its app listens.
    const first = stage.client()
    await eventually(async () => {
      const { status, text } = await first.get(`${place}/closed`)
      return status === 404 ? undefined : text
    }, PATIENCE)
    steady = callMcp(stage.client())
    fresh = callClosed(stage.client())
    await eventually(async () => {
      if (Math.min(steady.seen.length, fresh.seen.length) < 2) return 'no calls yet'
      return undefined
    }, PATIENCE)
  }, 480_000)

  afterAll(async () => {
    await steady?.end()
    await fresh?.end()
    await bare?.cluster.close()
  }, 60_000)

  describe('under calls', () => {
    let through: OutsideClient

    test('takes a sidecar without a restart: new connections meet faults, open ones stay', async () => {
      explain()
      const begun = performance.now()
      const { ok, text } = await attach('10m')
      expect(ok, text).toBe(true)
      note(`attached after ${since(begun)}`)
      expect(text).toContain('attached to shop/target: port 3000, armed, until')
      // When the command says so, it is so.
      expect(await bare.stage.client().get(`${place}/closed`)).toMatchObject({ status: 503 })
      through = bare.stage.client()
      await through.connect(`${place}/mcp`)
      expect(await through.call(...WEATHER)).toBe('error: attached')
      await expect.poll(() => fresh.seen.at(-1), POLL).toBe('injected')
      expect(new Set(fresh.seen)).toEqual(new Set(['fine', 'injected']))
      // Its connections were there before.
      expect(new Set(steady.seen)).toEqual(new Set(['ok']))
    })

    test('is shown by squall status, and takes no second one', async () => {
      const { out } = await bare.stage.squall('status', '-n', 'shop')
      expect(out).toMatch(/^shop +target +attached +armed +3 /m)
      const again = await attach('10m')
      expect(again.ok).toBe(false)
      expect(again.text).toContain(
        'a sidecar is already attached; detach it first: npx mcp-squall attach --undo',
      )
    })

    test('is not restarted by its probe, although a rule names its path', async () => {
      const found = await bare.stage.client().get(`${place}/executed`)
      expect(found).toMatchObject({ status: 200, marker: null })
      expect(restarts(await target())).toBe(0)
    })

    test('gives traffic back by squall attach --undo, and no call fails for that', async () => {
      explain()
      const begun = performance.now()
      const { ok, text } = await bare.stage.squall('attach', POD, '--undo', '-n', 'shop')
      expect(ok, text).toBe(true)
      note(`detached after ${since(begun)}`)
      expect(text).toMatch(/^shop\/target: detached/)
      const from = fresh.seen.length
      await expect.poll(() => fresh.seen.length - from, POLL).toBeGreaterThan(20)
      // The first of them may have begun before.
      expect(new Set(fresh.seen.slice(from + 1))).toEqual(new Set(['fine']))
      expect(new Set(fresh.seen)).toEqual(new Set(['fine', 'injected']))
      expect(new Set(steady.seen)).toEqual(new Set(['ok']))
      expect(await through.call(...WEATHER)).toMatch(/^ok: /)
      // Its event stream is cut in the end, and then nothing is left.
      await expect.poll(lastWord, POLL).toBe('detached: by squall attach --undo\n')
      expect(await tables()).toBe('')
      const twice = await bare.stage.squall('attach', POD, '--undo', '-n', 'shop', '--json')
      expect(JSON.parse(twice.text)).toMatchObject({ detached: false })
    })

    test('gets it back by itself when the time has passed, and the command reports in JSON', async () => {
      explain()
      const { ok, out, text } = await attach('15s', 'shop', '--json')
      expect(ok, text).toBe(true)
      expect(JSON.parse(out)).toMatchObject({ ports: [3000], armed: true, reasons: [] })
      await expect.poll(lastWord, POLL).toContain('after 15 s')
      expect(await bare.stage.client().get(`${place}/closed`)).toMatchObject({ status: 404 })
      expect(new Set([...fresh.seen, ...steady.seen])).toEqual(new Set(['fine', 'injected', 'ok']))
      expect(await tables()).toBe('')
    })
  })

  describe('with an attached sidecar that is killed', () => {
    test('has its traffic back at once', async () => {
      explain()
      const { ok, text } = await attach('10m')
      expect(ok, text).toBe(true)
      await kill('squall run --listen')
      const begun = performance.now()
      await expect.poll(() => fresh.seen.slice(-5).join(), POLL).toBe('fine,fine,fine,fine,fine')
      note(`calls reach the upstream ${since(begun)} after SIGKILL of the sidecar`)
      await expect.poll(lastWord, POLL).toContain('squall run exited (SIGKILL)')
      expect(new Set(steady.seen)).toEqual(new Set(['ok']))
    })

    test('has it back within seconds where all of the container is killed', async () => {
      explain()
      const { ok, text } = await attach('10m')
      expect(ok, text).toBe(true)
      await expect.poll(() => fresh.seen.at(-1), POLL).toBe('injected')
      await kill('squall attached')
      const begun = performance.now()
      await expect.poll(() => fresh.seen.slice(-5).join(), POLL).toBe('fine,fine,fine,fine,fine')
      note(`calls reach the upstream ${since(begun)} after SIGKILL of the container`)
      expect(new Set(steady.seen)).toEqual(new Set(['ok']))
      expect(restarts(await target())).toBe(0)
    })

    test('takes the next one', async () => {
      const { ok, text } = await attach('10m')
      expect(ok, text).toBe(true)
      expect((await bare.stage.squall('attach', POD, '--undo', '-n', 'shop')).ok).toBe(true)
      await expect.poll(tables, POLL).toBe('')
    })
  })

  describe('where that is forbidden', () => {
    test('stays as it is under Pod Security, whether the namespace can be read or not', async () => {
      const { stage, cluster } = bare
      await stage.kubectl('label', 'ns', 'tight', 'pod-security.kubernetes.io/enforce=baseline')
      const denied = await attach('1m', 'tight')
      const words =
        /nothing was attached: the namespace enforces the Pod Security level baseline.*mode port/s
      expect(denied.text).toMatch(words)
      const kubeconfig = await limitedUser()
      const unseen = await attach('1m', 'tight', '--kubeconfig', kubeconfig)
      expect(unseen.text).toMatch(words)
      expect(
        JSON.parse(await cluster.kubectl(['get', 'pod', POD, '-n', 'tight', '-o', 'json'])),
      ).not.toHaveProperty('spec.ephemeralContainers')
    })

    test('stays as it is in production', async () => {
      const { ok, text } = await attach('1m', 'live')
      expect(ok).toBe(false)
      expect(text).toMatch(/live.*production/)
    })
  })

  /** A user with what the documents name, who may not read namespaces. */
  async function limitedUser(): Promise<string> {
    const { stage, cluster } = bare
    const inside = ['-n', 'tight'] as const
    await stage.kubectl(...inside, 'create', 'sa', 'tester')
    const verbs = '--verb=get,patch,create'
    const resources = '--resource=pods,pods/ephemeralcontainers,pods/proxy'
    await stage.kubectl(...inside, 'create', 'role', 'attach', verbs, resources)
    const who = ['--role=attach', '--serviceaccount=tight:tester']
    await stage.kubectl(...inside, 'create', 'rolebinding', 'attach', ...who)
    const token = (await stage.kubectl(...inside, 'create', 'token', 'tester')).trim()
    const raw = await stage.kubectl('config', 'view', '--raw', '--flatten', '-o', 'json')
    const config = JSON.parse(raw) as { users: { user: object }[] }
    config.users[0]!.user = { token }
    const file = join(cluster.namespaces.directory, 'tester.json')
    await writeFile(file, JSON.stringify(config))
    return file
  }
})

function attach(time: string, namespace = 'shop', ...more: readonly string[]): Promise<CommandRun> {
  const args = ['attach', POD, '-n', namespace, '-f', '-', '--for', time, ...IMAGE, ...more]
  return bare.stage.squallWith(RULES, ...args)
}

async function target(): Promise<AttachedPod> {
  const text = await bare.stage.kubectl('-n', 'shop', 'get', 'pod', POD, '-o', 'json')
  return JSON.parse(text) as AttachedPod
}

/** The message of the sidecar that ended last. */
async function lastWord(): Promise<string> {
  const all = (await target()).status.ephemeralContainerStatuses ?? []
  const own = all.filter(({ name }) => name.startsWith('squall-attach-'))
  const numbered = own.map((each) => [Number(each.name.split('-').at(-1)), each] as const)
  const [, last] = numbered.toSorted(([one], [other]) => other - one)[0]!
  return last.state.terminated?.message ?? 'it has not ended'
}

/** The rest of Squall in the rules of the pod's network. */
async function tables(): Promise<string> {
  const { hostname } = new URL(place)
  const find = `for p in $(pgrep -f server.mjs); do nsenter --net -t $p ip -o addr | grep -q ' ${hostname}/' && echo $p && break; done`
  const list = `nsenter --net -t $(${find}) nft list tables | grep squall || :`
  return (await bare.cluster.namespaces.inside('sh', ['-c', list])).text
}

async function kill(words: string): Promise<void> {
  const script = 'kill -9 $(pgrep -f "$0")'
  // The shell itself must not be found.
  const pattern = `[${words[0]}]${words.slice(1)}`
  const { ok, text } = await bare.cluster.namespaces.inside('sh', ['-c', script, pattern])
  expect(ok, text).toBe(true)
}

/** Somebody who calls without a pause. */
interface Caller {
  readonly seen: readonly string[]
  end(): Promise<void>
}

function caller(call: () => Promise<string>): Caller {
  const seen: string[] = []
  const over = new AbortController()
  const loop = async (): Promise<void> => {
    while (!over.signal.aborted) {
      seen.push(await call())
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const done = loop()
  return {
    seen,
    end: () => {
      over.abort()
      return done
    },
  }
}

/** One client that was connected before anything else. */
function callMcp(client: OutsideClient): Caller {
  const connected = client.connect(`${place}/mcp`)
  return caller(async () => {
    await connected
    const said = await client.call(...WEATHER)
    return said.startsWith('ok: ') ? 'ok' : said
  })
}

/** A new connection for each request. */
function callClosed(client: OutsideClient): Caller {
  return caller(async () => {
    const { status, marker, text } = await client.get(`${place}/closed`)
    if (status === 503 && marker !== null) return 'injected'
    return status === 404 && marker === null ? 'fine' : `${status} ${text}`
  })
}

function explain(): void {
  onTestFailed(async () => {
    const { stage } = bare
    const pod = await target()
    note(JSON.stringify(pod.status, null, 1))
    for (const { name } of (pod.spec.ephemeralContainers ?? []) as { name: string }[]) {
      note(await stage.kubectl('-n', 'shop', 'logs', POD, '-c', name).catch(String))
    }
  })
}
