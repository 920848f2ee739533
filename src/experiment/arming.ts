import { setTimeout as sleep } from 'node:timers/promises'
import { armedText } from './armed-rules.ts'
import type { Plan, Stage } from './plan.ts'
import { refuse } from './refusal.ts'
import type { RulesPlace } from './rules-place.ts'
import { AdminError, askState, type SidecarState } from './sidecar-admin.ts'

/** Notices of a new file by inotify are quick; a sidecar that polls takes longer. */
export const IN_FORCE_MS = 10_000
const POLL_MS = 25

/** The rules of an experiment in a sidecar: they end by themselves, unless they are renewed. */
export class Arming {
  readonly #plan: Plan
  readonly #id: string
  readonly #place: RulesPlace
  readonly #aheadMs: number
  readonly #inForceMs: number
  /** Digests that the sidecar may rightly tell: of what was written last, and of what it replaced. */
  readonly #digests: string[] = []
  #stage: Stage | undefined
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<unknown> = Promise.resolve()
  #over = false
  #trouble: unknown

  constructor(
    plan: Plan,
    id: string,
    place: RulesPlace,
    times: { readonly aheadMs: number; readonly inForceMs: number },
  ) {
    this.#plan = plan
    this.#id = id
    this.#place = place
    this.#aheadMs = times.aheadMs
    this.#inForceMs = times.inForceMs
  }

  /** What kept the rules from being renewed; they end by themselves then. */
  get trouble(): unknown {
    return this.#trouble
  }

  /** Whether the rules that the sidecar tells are those of this experiment. */
  isOurs(digest: string | undefined): boolean {
    return digest !== undefined && this.#digests.includes(digest)
  }

  /**
   * Brings the rules of a stage, or the marker alone, and waits until the sidecar says that they are
   * in force. Throws a `RefusedError` when they do not come into force.
   */
  async arm(stage: Stage | undefined, signal: AbortSignal): Promise<void> {
    clearTimeout(this.#timer)
    this.#stage = stage
    // From here on the rules of the stage before are none of this one.
    this.#digests.length = 0
    const digest = await this.#write()
    this.#renewLater()
    const until = performance.now() + this.#inForceMs
    let why = 'it did not read them'
    for (;;) {
      const state = await askState(this.#plan.admin, signal).catch((error: unknown) => {
        if (!(error instanceof AdminError)) throw error
        why = error.message
        return undefined
      })
      if (state !== undefined) {
        if (this.isOurs(state.digest) && state.last?.digest === state.digest) return
        if (state.last?.digest === digest && state.last.result === 'refused') {
          throw notInForce(`the sidecar refuses them: ${state.last.problem}`)
        }
      }
      if (performance.now() > until || signal.aborted) throw notInForce(why)
      await sleep(POLL_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** Puts back what was there before. The result says whether that was still possible. */
  async rollback(): Promise<boolean> {
    this.#over = true
    clearTimeout(this.#timer)
    await this.#writing.catch(() => {})
    return this.#place.restore()
  }

  /** Writes one after another: a renewal must not come after what takes it back. */
  #write(): Promise<string> {
    const written = this.#writing
      .catch(() => {})
      .then(async () => {
        const until = Date.now() + this.#aheadMs + this.#plan.file.sidecar.expiry
        const { text, digest } = armedText(this.#plan, this.#id, this.#stage, until)
        if (this.#over) return digest
        // Known before it is there: the sidecar may be quicker than this.
        this.#digests.push(digest)
        if (this.#digests.length > 2) this.#digests.shift()
        await this.#place.write(text)
        return digest
      })
    this.#writing = written
    return written
  }

  #renewLater(): void {
    clearTimeout(this.#timer)
    if (this.#over) return
    this.#timer = setTimeout(() => void this.#renew(), this.#plan.file.sidecar.expiry / 3)
  }

  async #renew(): Promise<void> {
    try {
      const state = await askState(this.#plan.admin)
      // A new version lifts what the guard of the sidecar has disarmed.
      if (isCalm(state)) await this.#write()
    } catch (error) {
      if (!(error instanceof AdminError)) this.#trouble = error
    }
    if (this.#trouble === undefined) this.#renewLater()
  }
}

/** Whether nothing but a drain, which ends the sidecar anyway, keeps rules from acting. */
function isCalm({ reasons }: SidecarState): boolean {
  return !reasons.some(({ by }) => by === 'guard')
}

function notInForce(why: string): Error {
  return refuse(
    'RULES_NOT_IN_FORCE',
    `the rules did not come into force: ${why}`,
    'sidecar.rulesFile has to be the one file that the sidecar at sidecar.admin was given by --rules',
  )
}
