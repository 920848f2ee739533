import { budgetOf } from '../../../kubernetes/src/kube/budget.ts'
import { writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { PodSidecars } from '../../src/operations/pods/pod-sidecars.ts'
import { armedText } from '../../src/experiment/armed-rules.ts'
import type { ExperimentEvent, ExperimentOptions } from '../../src/experiment/context.ts'
import type { ExperimentResult, PhaseResult } from '../../src/experiment/experiment-result.ts'
import { readPlan } from '../../src/experiment/read-plan.ts'
import { RejectedError } from '../../src/experiment/rejection.ts'
import { runExperiment } from '../../src/experiment/run-experiment.ts'
import { type Shop, startCluster } from '../../../../test/support/cluster.ts'
import { type ScriptedServer, startUpstream } from '../../../../test/support/wire.ts'
import type { Squall } from '../../../../test/support/commands.ts'

/** Keys of a plan instead of the usual ones; `expiry` is that of the sidecar. */
export type Changes = Readonly<Record<string, unknown>> & { readonly expiry?: string }

/** Pods with sidecars behind one address, and experiments on them. */
export interface PodsStage {
  readonly shop: Shop
  readonly server: ScriptedServer
  /** The sidecars of all pods ever added. */
  readonly sidecars: readonly Squall[]
  add(name: string): Promise<Squall>
  /** Takes a pod away; its sidecar responds no more. */
  remove(name: string): void
  /** The ConfigMap without what the API server changes with each write. */
  configMap(): unknown
  /** Changes the ConfigMap as another program does. */
  change(data: Readonly<Record<string, string>>): void
  /** The text of a plan: small and quick. */
  text(changes?: Changes): string
  run(changes?: Changes, options?: Partial<ExperimentOptions>): Promise<ExperimentResult>
  /** Leaves what a runner leaves that dies in its first stage. */
  die(expiry: string): Promise<void>
  /** The messages with which an experiment is rejected. */
  rejected(changes?: Changes): Promise<readonly string[]>
  close(): Promise<void>
}

export const CONFIG_MAP = '/api/v1/namespaces/shop/configmaps/squall-rules'
/** The rules before, as all pods have mounted them. */
export const NONE_YET = { 'rules.yaml': '# none yet\n', notes: 'of somebody else' }

/** Returns a listener that acts once, when the phase with this label begins. */
export function during(label: string, act: () => unknown): (event: ExperimentEvent) => void {
  let isDone = false
  return (event) => {
    if (isDone || event.kind !== 'phase' || event.label !== label) return
    isDone = true
    act()
  }
}

/**
 * The calls of the first phases that reached the server, by the counts of the load and of the
 * sidecars.
 */
export function reached({ before, stages }: ExperimentResult): number {
  const calls = ({ load }: PhaseResult): number => load!.counts.calls
  const all = [before, ...stages].reduce((sum, phase) => sum + calls(phase), 0)
  return all - stages.reduce((sum, { applied }) => sum + applied, 0)
}

/** Starts a cluster with two pods, whose sidecars have more flags. */
export async function podsStage(...more: readonly string[]): Promise<PodsStage> {
  const shop = await startCluster('shop')
  const server = await startUpstream('scripted', () => 'ok')
  const ports = new Map<string, number>()
  const added: Squall[] = []
  const balancer = await startUpstream(inTurn(ports))
  const add = async (name: string): Promise<Squall> => {
    const labels = join(shop.directory, 'labels')
    await writeFile(labels, 'app="shop"\n')
    const flags = ['--environment', 'staging', '--pod-labels-file', labels, ...more]
    const squall = await shop.addPod(name, { flags, server: Number(server.url.port) })
    ports.set(name, squall.port)
    added.push(squall)
    return squall
  }
  const planText = ({ expiry, ...changes }: Changes = {}): string => {
    const { sidecar, ...plan } = usual(balancer.port)
    const timed = expiry === undefined ? sidecar : { ...sidecar, expiry }
    return JSON.stringify({ ...plan, sidecar: timed, ...changes })
  }
  const sidecars = async (changes: Changes) => {
    const text = planText(changes)
    const source = {
      file: 'plan.yaml',
      directory: '/',
      readText: () => Promise.reject(new Error()),
    }
    const read = await readPlan(text, source)
    if (!read.ok) throw new Error(JSON.stringify(read.problems))
    const { plan } = read
    if (plan.sidecar.kind !== 'pods') throw new Error('the plan is for one sidecar')
    const options = { prefix: 'squall.dev/', readToken: undefined, budget: budgetOf({}) }
    const opened = new PodSidecars(shop.client, plan.sidecar, options)
    Object.assign(opened.paces, { activationMs: 10_000 })
    return { plan, sidecars: opened }
  }
  const run: PodsStage['run'] = async (changes = {}, options = {}) =>
    runExperiment({
      ...(await sidecars(changes)),
      version: '0.0.0',
      headers: {},
      stateDirectory: shop.directory,
      stop: new AbortController().signal,
      past: [],
      onEvent: () => {},
      ...options,
    })
  shop.api.put(CONFIG_MAP, { kind: 'ConfigMap', data: NONE_YET })
  await add('shop-1')
  await add('shop-2')
  return {
    shop,
    server,
    sidecars: added,
    add,
    remove: (name) => {
      ports.delete(name)
      shop.api.store.delete(`/api/v1/namespaces/shop/pods/${name}`)
      shop.api.sidecars.delete(`shop/${name}`)
    },
    configMap: () => {
      const found = shop.api.store.get(CONFIG_MAP)
      if (found === undefined) return undefined
      const { annotations, labels } = found['metadata'] as Readonly<Record<string, object>>
      return { annotations: annotations ?? {}, labels: labels ?? {}, data: found['data'] }
    },
    change: (data) => {
      const found = shop.api.store.get(CONFIG_MAP)!
      shop.api.put(CONFIG_MAP, { ...found, data: { ...(found['data'] as object), ...data } })
    },
    text: planText,
    run,
    die: async (expiry) => {
      const { plan, sidecars: runner } = await sidecars({ expiry })
      const rules = await runner.open('20260101-000000-abcdef')
      const until = Date.now() + plan.file.sidecar.expiry
      const id = '20260101-000000-abcdef'
      const { text, digest } = armedText(plan, id, plan.stages[0], until, Date.now())
      await rules.write(text, digest, Date.now())
    },
    rejected: async (changes) => {
      try {
        await run(changes)
      } catch (error) {
        if (error instanceof RejectedError) {
          return error.rejections.map(({ code, wrong }) => `${code}: ${wrong}`)
        }
        throw error
      }
      return []
    },
    close: async () => {
      await balancer.close()
      await shop.close()
      await server.close()
    },
  }
}

/** Passes each request to the next pod, as a Service does. */
function inTurn(ports: ReadonlyMap<string, number>): RequestListener {
  let turn = 0
  return (request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const all = [...ports.values()]
      const port = all[turn++ % all.length]
      const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
      const passed = await fetch(`http://127.0.0.1:${port}/mcp`, {
        method: request.method!,
        headers: headers as Record<string, string>,
        ...(request.method === 'POST' && { body: Buffer.concat(chunks) }),
      })
      const kept = new Map(passed.headers)
      for (const name of ['content-length', 'transfer-encoding']) kept.delete(name)
      response.writeHead(passed.status, Object.fromEntries(kept)).end(await passed.text())
    })().catch(() => response.destroy())
  }
}

function usual(port: number) {
  return {
    name: 'pods',
    seed: 1,
    target: { url: `http://127.0.0.1:${port}/mcp`, environment: 'staging' },
    sidecar: { kubernetes: { namespace: 'shop', selector: { app: 'shop' } }, expiry: '5s' },
    steadyState: { errors: '1%', for: '300ms', within: '20s' },
    rules: [{ name: 'broken', match: { tool: 'work' }, faults: [{ abort: { toolError: 'no' } }] }],
    stages: ['20%'],
    hold: '1500ms',
    load: { clients: 2, rate: 60, tools: ['work'] },
    abortOn: { errors: '90%' },
  }
}
