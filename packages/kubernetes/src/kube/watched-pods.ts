import { AdminError, API, type Endpoint, type ResponseOf, type Rule, type State } from '#admin-api'
import { type Fields, fieldsOf, listOf, textOf } from '#base'
import { SIDECAR } from '../injector/injected-names.ts'
import { inParallel } from './in-parallel.ts'
import { type InjectedPod, readInjectedPod } from './injected-pod.ts'
import type { KubeClient } from './kube-client.ts'
import { asKubeError } from './kube-error.ts'
import { type Limits, metadataOf, PODS, reportsReady } from './resources.ts'
import { ASK_MS, askSidecar } from './sidecar-api.ts'

/** A pod with a sidecar at the time of a look. */
export interface WatchedPod {
  readonly pod: InjectedPod
  readonly isReady: boolean
  readonly isTerminating: boolean
  /** The containers but the sidecar. */
  readonly containers: readonly {
    readonly id: string
    readonly restarts: number
    /** Milliseconds since the epoch; undefined while it does not run. */
    readonly startedAt: number | undefined
  }[]
  /**
   * The time of `performance.now()` at which the pod was new; before all time for those of the
   * first look.
   */
  readonly firstSeen: number
  /** Undefined when the sidecar does not run or could not be asked. */
  readonly state: State | undefined
  readonly rules: readonly Rule[]
  /** The reason why a running sidecar could not be asked. */
  readonly trouble: string | undefined
}

interface WatchScope {
  readonly namespace: string
  readonly selector: string
  readonly prefix: string
  readonly readToken: string | undefined
}

type Asked = Pick<WatchedPod, 'state' | 'rules' | 'trouble'>

/** The time for a response of a pod that is not ready, or did not respond. */
const SILENT_ASK_MS = 1_000
/** The pause before a pod that did not respond is asked again doubles. */
const FIRST_SILENCE_MS = 250
const MAX_SILENCE_MS = 8_000
const UNASKED = { state: undefined, rules: [], trouble: undefined }

/** Looks at the pods of a selector again and again, and asks their sidecars. */
export class WatchedPods {
  readonly #client: KubeClient
  readonly #scope: WatchScope
  readonly #firstSeen = new Map<string, number>()
  /** The pods that did not respond, and until when they are not asked. */
  readonly #silent = new Map<string, { asked: Asked; pauseMs: number; until: number }>()
  #isFirst = true

  constructor(client: KubeClient, scope: WatchScope) {
    this.#client = client
    this.#scope = scope
  }

  /** Lists the pods and asks the sidecars of those that do not terminate. Throws a `KubeError`. */
  async look({ signal }: Limits): Promise<readonly WatchedPod[]> {
    const { namespace, selector, prefix } = this.#scope
    const now = this.#isFirst ? -Infinity : performance.now()
    const ref = { kind: PODS, namespace }
    const pods = await this.#client.list(ref, selector, { signal }, (page) =>
      page.flatMap((pod) => this.#read(pod, prefix, now)),
    )
    this.#isFirst = false
    return inParallel(pods, async (each) => ({
      ...each,
      ...(each.isTerminating ? UNASKED : await this.#askOften(each, signal)),
    }))
  }

  #read(fields: Fields, prefix: string, now: number) {
    const { isTerminating } = metadataOf(fields)
    const metadata = { ...fieldsOf(fields['metadata']), deletionTimestamp: undefined }
    const pod = readInjectedPod({ ...fields, metadata }, prefix)
    if (pod === undefined) return []
    const id = podId(pod)
    const firstSeen = this.#firstSeen.get(id) ?? now
    this.#firstSeen.set(id, firstSeen)
    const containers = containersOf(fields, id)
    const isReady = !isTerminating && reportsReady(fields)
    return [{ pod, isReady, isTerminating, firstSeen, containers }]
  }

  /** Asks a sidecar, and one that did not respond ever more rarely: it delays the look. */
  async #askOften(
    { pod, isReady }: Pick<WatchedPod, 'pod' | 'isReady'>,
    signal: AbortSignal | undefined,
  ): Promise<Asked> {
    const silence = this.#silent.get(podId(pod))
    if (silence !== undefined && performance.now() < silence.until) return silence.asked
    const isLikely = isReady && silence === undefined
    const asked = await this.ask(pod, signal, isLikely ? ASK_MS : SILENT_ASK_MS)
    this.#silent.delete(podId(pod))
    if (asked.trouble !== undefined) {
      const pauseMs = Math.min(2 * (silence?.pauseMs ?? FIRST_SILENCE_MS), MAX_SILENCE_MS)
      this.#silent.set(podId(pod), { asked, pauseMs, until: performance.now() + pauseMs })
    }
    return asked
  }

  /** Asks one sidecar. */
  async ask(pod: InjectedPod, signal: AbortSignal | undefined, timeoutMs = ASK_MS): Promise<Asked> {
    if (pod.sidecar !== 'running') return UNASKED
    const options = { signal, readToken: this.#scope.readToken, timeoutMs }
    try {
      const state = await askSidecar(this.#client, pod, API.state, options)
      const { rules } = await askSidecar(this.#client, pod, API.rules, options)
      return { state, rules, trouble: undefined }
    } catch (error) {
      const { code, message } = asKubeError(error)
      // A deleted pod is not an error.
      return code === 'not_found' ? UNASKED : { ...UNASKED, trouble: message }
    }
  }

  /** Asks a sidecar for what it may not have: undefined then. Throws an `AdminError`. */
  async askFor<E extends Endpoint>(
    pod: InjectedPod,
    endpoint: E,
  ): Promise<ResponseOf<E> | undefined> {
    const { readToken } = this.#scope
    try {
      return await askSidecar(this.#client, pod, endpoint, { readToken })
    } catch (error) {
      const { code, message } = asKubeError(error)
      if (code === 'not_found') return undefined
      throw new AdminError(message, { cause: error })
    }
  }
}

function containersOf(pod: Fields, id: string): WatchedPod['containers'] {
  return listOf(fieldsOf(pod['status'])['containerStatuses'])
    .filter(({ name }) => name !== SIDECAR)
    .map(({ name, restartCount, state }) => {
      const at = Date.parse(textOf(fieldsOf(fieldsOf(state)['running'])['startedAt']) ?? '')
      const restarts = typeof restartCount === 'number' ? restartCount : 0
      return { id: `${id}/${String(name)}`, restarts, startedAt: at || undefined }
    })
}

/** Identifies a pod: a StatefulSet gives a name again. */
export function podId({ name, uid }: Pick<InjectedPod, 'name' | 'uid'>): string {
  return uid ?? name
}
