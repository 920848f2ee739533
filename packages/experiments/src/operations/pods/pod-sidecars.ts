import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { AdminError, type Rule } from '#admin-api'
import {
  askBudget,
  type BudgetOptions,
  type ClaimedKey,
  claimOf,
  configMapKeys,
  type CountedExperiment,
  findConfigMap,
  type InjectedPod,
  inParallel,
  type KubeClient,
  KubeError,
  podId,
  readsKey,
  restoreClaimed,
  touchPods,
  userName,
  type WatchedPod,
  WatchedPods,
  sawBudget,
} from '#kubernetes'
import { readTasksOf } from '../../load/sidecar-tasks.ts'
import type { LockHolder } from '../../experiment/lock.ts'
import type { ServerProcesses } from '../../experiment/monitor/server-processes.ts'
import type { PodsSpec } from '../../experiment/plan.ts'
import { podsUnreachable, RejectedError, type Rejection } from '../../experiment/rejection.ts'
import type {
  Counts,
  Killing,
  ReplacedRules,
  Sidecars,
  SidecarState,
} from '../../experiment/sidecars.ts'
import { type Begin, openRejections, runningRejection } from './open-rejections.ts'
import { PodCounts } from './pod-counts.ts'
import { podKilling } from './pod-killing.ts'
import { podLabels, selectorText } from './pod-labels.ts'
import { podRules, withinBudget } from './pod-rules.ts'
import { BEFORE, MAX_VERSIONS, RulesVersions } from './rules-versions.ts'

/**
 * A new pod mounts the rules of this moment; other digests in this time do not count as a change.
 */
const JOIN_MS = 30_000
/** The pause between two looks at a terminating pod. */
const FOLLOW_MS = 100

interface PodAccess {
  readonly prefix: string
  readonly readToken: string | undefined
  readonly budget: BudgetOptions
}

/** The sidecars of pods, which read their rules from a ConfigMap. */
export class PodSidecars implements Sidecars {
  readonly rulesSource = { name: 'ConfigMap', setting: 'sidecar.kubernetes' }
  readonly paces = {
    activationMs: 120_000,
    activationPollMs: 250,
    pollMs: 1_000,
    versions: MAX_VERSIONS,
    lostMs: 30_000,
  }
  readonly killing: Killing | undefined
  readonly #client: KubeClient
  readonly #spec: PodsSpec
  readonly #target: ClaimedKey
  readonly #readToken: string | undefined
  readonly #budget: BudgetOptions
  readonly #counts = new PodCounts()
  #seesBudget = false
  #begun: Promise<Begin> | undefined
  #pods: readonly WatchedPod[] = []
  #lookedAt = -Infinity
  readonly #followed = new Set<string>()

  constructor(client: KubeClient, spec: PodsSpec, { prefix, readToken, budget }: PodAccess) {
    this.#client = client
    this.#spec = spec
    this.#readToken = readToken
    this.#budget = budget
    const { namespace, configMap, key, kills } = spec
    this.#target = { namespace, configMap, key, prefix }
    const look = (signal?: AbortSignal): Promise<readonly WatchedPod[]> => this.#look(signal)
    this.killing = kills === undefined ? undefined : podKilling(client, kills, look)
  }

  get ready(): number {
    return this.#pods.filter(({ isReady }) => isReady).length
  }

  async states(signal?: AbortSignal): Promise<readonly SidecarState[]> {
    const pods = await this.#look(signal)
    const running = pods.filter(
      ({ pod, isTerminating }) => pod.sidecar === 'running' && !isTerminating,
    )
    if (running.length === 0) throw new AdminError('no pod with a sidecar is running')
    this.#rejectSilent(running)
    const { versions } = await this.#begin()
    const aheadMs = this.#client.aheadMs
    return running.flatMap((each) => {
      const isNew = performance.now() - each.firstSeen < JOIN_MS
      const { state, pod } = each
      if (state === undefined) return []
      const translated = versions.translated(state, pod)
      return isNew && translated.rules.digest !== versions.last ? [] : [{ ...translated, aheadMs }]
    })
  }

  /** Throws where too many pods do not respond; of these, pods that are not ready do not count. */
  #rejectSilent(running: readonly WatchedPod[]): void {
    const responding = running.filter(({ state }) => state !== undefined).length
    const silent = running.filter(
      ({ state, firstSeen }) => state === undefined && performance.now() - firstSeen >= JOIN_MS,
    )
    const counted = silent.filter(({ isReady }) => isReady).length
    const isEnough = responding * 100 >= (responding + counted) * this.#spec.min
    if (silent.length === 0 || (responding > 0 && isEnough)) return
    const [{ trouble, pod }] = silent as [WatchedPod]
    throw new AdminError(trouble ?? `pod ${pod.name} does not respond`)
  }

  /** Decides by the last look: a renewal must not wait for a pod that does not respond. */
  async isGuarded(): Promise<boolean> {
    return this.#pods.some(({ state }) => state?.reasons.some(({ by }) => by === 'guard') === true)
  }

  async rules(signal?: AbortSignal): Promise<readonly Rule[]> {
    const pods = await this.#look(signal)
    return pods.filter(({ isTerminating }) => !isTerminating).flatMap(({ rules }) => rules)
  }

  async counts(names: ReadonlySet<string>, signal?: AbortSignal): Promise<Counts> {
    await this.#look(signal)
    return this.#counts.of(names)
  }

  readonly processes: ServerProcesses = async (signal) => {
    // Looks of other checks are recent enough.
    if (performance.now() - this.#lookedAt > this.paces.pollMs) await this.#look(signal)
    const running = this.#pods.filter(({ isTerminating }) => !isTerminating)
    const processes = running.flatMap(({ containers }) => containers)
    return { now: this.#client.now(), processes }
  }

  readonly forLoad: Sidecars['forLoad'] = {
    sidecars: [],
    readTasks: async (since) => {
      const pods = (await this.#look()).filter(
        ({ state, trouble }) =>
          state !== undefined || (since !== undefined && trouble !== undefined),
      )
      const { watched } = await this.#begin()
      return inParallel(pods, ({ pod }) =>
        readTasksOf(`the sidecar of pod ${pod.name}`, since, (each) => watched.askFor(pod, each)),
      )
    },
  }

  /**
   * Restores the rules of an experiment whose claim has expired, or whose process died on this
   * machine.
   */
  async recover(dead: LockHolder | undefined): Promise<string | undefined> {
    try {
      const found = await findConfigMap(this.#client, this.#target, {})
      const claim = claimOf(found, this.#target.prefix)
      if (claim === undefined) return undefined
      const isDead = claim.id === dead?.id || Date.parse(claim.until) < this.#client.now()
      if (!isDead) return undefined
      await restoreClaimed(this.#client, { ...this.#target, key: claim.key }, claim.id, {})
      await this.#untilDelivered()
      return claim.id
    } catch (error) {
      return rejectUnreachable(error)
    }
  }

  async open(id: string): Promise<ReplacedRules> {
    const begin = await this.#begin().catch(rejectUnreachable)
    const claim = claimOf(begin.configMap, this.#target.prefix)
    const pods = await this.#look().catch(() => [])
    const client = this.#client
    const by = (await userName(client, {})) ?? `a user of ${hostname()}`
    const asks = { id, by, until: undefined, isRunning: false }
    const rejections = [
      ...(claim === undefined ? [] : [runningRejection(claim)]),
      ...openRejections(begin, pods),
      ...(await this.#budgetRejections(begin, asks)),
    ]
    if (rejections.length > 0) throw new RejectedError(...rejections)
    const seesBudget = (): boolean => this.#seesBudget
    const run = { id, by, expiryMs: this.#spec.expiryMs, seesBudget }
    const onWrite = (appliedAt: number): void => this.#counts.begin(appliedAt)
    const rules = podRules(client, begin, run, () => this.#pods, onWrite)
    return withinBudget(rules, client, run, async (experiment) => {
      const denials = await this.#budgetRejections(begin, experiment)
      if (denials.length > 0) throw new RejectedError(...denials)
    })
  }

  async #budgetRejections(
    { configMap, target }: Begin,
    experiment: CountedExperiment,
  ): Promise<readonly Rejection[]> {
    const { namespace, prefix } = target
    const wasSeen = this.#seesBudget || sawBudget(configMap, prefix)
    const chaos = { namespace, prefix, wasSeen, of: experiment }
    const { denial, isThere } = await askBudget(this.#client, this.#budget, chaos, {})
    this.#seesBudget ||= isThere
    if (denial === undefined) return []
    return [{ code: 'OVER_BUDGET', wrong: denial, fix: 'wait, or ask who set it' }]
  }

  /** Waits until all pods have read what was restored. */
  async #untilDelivered(): Promise<void> {
    this.#begun = undefined
    await this.#look()
    const pods = this.#pods.map(({ pod }) => pod)
    await touchPods(this.#client, pods, this.#target.prefix, new Date(), {})
    const until = performance.now() + this.paces.activationMs
    while (performance.now() < until) {
      const states = await this.states().catch(() => [])
      if (states.length > 0 && states.every(({ rules }) => rules.digest === BEFORE)) return
      await sleep(this.paces.activationPollMs)
    }
  }

  async #look(signal?: AbortSignal): Promise<readonly WatchedPod[]> {
    try {
      const { watched } = await this.#begin()
      const pods = await watched.look({ signal })
      const { configMap, key } = this.#target
      this.#pods = pods.filter(
        ({ pod: { rules } }) => rules?.configMap === configMap && readsKey(rules, key),
      )
      this.#lookedAt = performance.now()
      for (const each of this.#pods) {
        this.#count(each.pod, each)
        if (each.isTerminating) void this.#follow(each.pod, watched)
      }
      return this.#pods
    } catch (error) {
      if (!(error instanceof KubeError) && signal?.aborted !== true) throw error
      throw new AdminError((error as Error).message, { cause: error })
    }
  }

  #count(pod: InjectedPod, { state, rules }: Pick<WatchedPod, 'state' | 'rules'>): void {
    if (state !== undefined) this.#counts.add(podId(pod), state.startedAt, rules)
  }

  /** Counts the last calls of a terminating pod, until its sidecar has ended. */
  async #follow(pod: InjectedPod, watched: WatchedPods): Promise<void> {
    if (this.#followed.has(podId(pod))) return
    this.#followed.add(podId(pod))
    for (;;) {
      const asked = await watched.ask(pod, undefined)
      if (asked.state === undefined) return
      this.#count(pod, asked)
      await sleep(FOLLOW_MS)
    }
  }

  /** Reads what stays the same during the experiment. Throws a `KubeError`. */
  #begin(): Promise<Begin> {
    return (this.#begun ??= this.#readBegin())
  }

  async #readBegin(): Promise<Begin> {
    const client = this.#client
    const target = this.#target
    const { namespace, prefix } = target
    const labels = await podLabels(client, this.#spec)
    const selector = selectorText(labels)
    const readToken = this.#readToken
    const watched = new WatchedPods(client, { namespace, selector, prefix, readToken })
    const configMap = await findConfigMap(client, target, {})
    const versions = new RulesVersions(configMapKeys(configMap ?? {}))
    return { target, labels, watched, configMap, versions }
  }
}

function rejectUnreachable(error: unknown): never {
  if (!(error instanceof KubeError)) throw error
  throw podsUnreachable(error.message)
}
