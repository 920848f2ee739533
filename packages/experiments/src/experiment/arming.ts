import { setTimeout as sleep } from 'node:timers/promises'
import { AdminError } from '#admin-api'
import { armedText } from './armed-rules.ts'
import type { Plan, Stage } from './plan.ts'
import { rejectionError, RulesChangedError } from './rejection.ts'
import { firstProblem } from './sidecar-admin.ts'
import type { ReplacedRules, Sidecars } from './sidecars.ts'

/** The number of renewals before the rules expire. */
const RENEWALS = 3

/** Describes the sidecars whose rules are replaced. */
export interface ArmedSidecars {
  readonly sidecars: Sidecars
  readonly rules: ReplacedRules
  /** The milliseconds by which the clock of the sidecars is ahead. */
  readonly aheadMs: number
  /** The digest of the previous rules. */
  readonly before: string | null
  /** True when other rules inject faults, which are suspended during the experiment. */
  readonly suspended: boolean
}

/** Arms the rules of an experiment in its sidecars; they expire unless they are renewed. */
export class Arming {
  readonly #plan: Plan
  readonly #id: string
  readonly #armed: ArmedSidecars
  /** The digests that the sidecars may report: of the last texts of the stage. */
  readonly #digests: string[] = []
  #digestsOfStage: readonly string[] = []
  #stage: Stage | undefined
  #appliedAt = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<unknown> = Promise.resolve()
  #closed = false
  #failure: unknown
  #withdrawing: Promise<boolean> | undefined
  #restoring: Promise<boolean> | undefined

  constructor(plan: Plan, id: string, armed: ArmedSidecars) {
    this.#plan = plan
    this.#id = id
    this.#armed = armed
  }

  /** The error that prevented a renewal; the rules expire then. */
  get failure(): unknown {
    return this.#failure
  }

  /** Returns true when the rules of a sidecar are those of this experiment. */
  isOurs(digest: string | null): boolean {
    return digest !== null && this.#digests.includes(digest)
  }

  /**
   * Writes the rules of a stage, or only the claim, and waits until they are active. Throws a
   * `RejectedError` when they do not become active.
   */
  async arm(stage: Stage | undefined, signal: AbortSignal): Promise<void> {
    clearTimeout(this.#timer)
    this.#stage = stage
    this.#appliedAt = this.#now()
    // The rules of the previous stage no longer count.
    this.#digests.length = 0
    const digest = await this.#write().catch((error: unknown) => {
      if (!(error instanceof AdminError)) throw error
      throw this.#notActive(error.message)
    })
    this.#renewLater()
    const { sidecars } = this.#armed
    const until = performance.now() + sidecars.paces.activationMs
    let why = 'a sidecar did not load them in time'
    for (;;) {
      const states = await sidecars.states(signal).catch((error: unknown) => {
        if (!(error instanceof AdminError)) throw error
        why = error.message
        return []
      })
      const rejected = states.find(
        ({ lastReload: last }) => last?.digest === digest && last.result === 'rejected',
      )
      if (rejected !== undefined) {
        throw this.#notActive(`a sidecar rejected them: ${firstProblem(rejected.lastReload!)}`)
      }
      const isActive = states.every(
        ({ rules, lastReload: last }) => this.isOurs(rules.digest) && last?.digest === rules.digest,
      )
      if (states.length > 0 && isActive) return
      if (performance.now() > until || signal.aborted) throw this.#notActive(why)
      await sleep(sidecars.paces.activationPollMs, undefined, { signal }).catch(() => {})
    }
  }

  /**
   * Removes the rules of the experiment. Suspended rules stay suspended until `restore`, so that
   * the last phase runs under the same rules as the first. Returns false when another program has
   * changed the file.
   */
  withdraw(): Promise<boolean> {
    if (!this.#armed.suspended || this.#closed) return this.restore()
    return (this.#withdrawing ??= this.#leaveClaim())
  }

  /** Restores the previous content. Returns false when another program has changed the file. */
  restore(): Promise<boolean> {
    return (this.#restoring ??= this.#restoreFile())
  }

  /** Classifies the rules of a sidecar after `withdraw`. */
  afterWithdrawal(digest: string | null): 'withdrawn' | 'pending' | 'foreign' {
    const restoring = this.#restoring !== undefined
    const before = this.#armed.before ?? digest
    if (restoring ? digest === before : this.isOurs(digest)) return 'withdrawn'
    const ours = restoring ? this.#digests : this.#digestsOfStage
    return digest !== null && ours.includes(digest) ? 'pending' : 'foreign'
  }

  async #leaveClaim(): Promise<boolean> {
    this.#stage = undefined
    this.#digestsOfStage = this.#digests.splice(0)
    try {
      await this.#write()
      this.#renewLater()
      return true
    } catch (error) {
      if (error instanceof RulesChangedError) return false
      throw error
    }
  }

  async #restoreFile(): Promise<boolean> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#writing.catch(() => {})
    const restored = await this.#armed.rules.restore()
    if (restored) await this.#untilReplaced()
    return restored
  }

  /**
   * Waits until the sidecars have activated the restored rules, so that a next experiment can
   * begin.
   */
  async #untilReplaced(): Promise<void> {
    const { sidecars } = this.#armed
    const until = performance.now() + sidecars.paces.activationMs
    const ours: readonly (string | null)[] = [...this.#digests, ...this.#digestsOfStage]
    const lostAt = performance.now() + sidecars.paces.lostMs
    while (performance.now() < until) {
      const states = await sidecars.states().catch(() => undefined)
      const isOpen =
        states?.some(({ rules }) => ours.includes(rules.digest)) ?? performance.now() < lostAt
      if (!isOpen) return
      await sleep(sidecars.paces.activationPollMs)
    }
  }

  /** Returns the time by the clock of the sidecars. */
  #now(): number {
    return Date.now() + this.#armed.aheadMs
  }

  /** Serializes writes: a renewal must not follow a withdrawal. */
  #write(): Promise<string> {
    const written = this.#writing
      .catch(() => {})
      .then(async () => {
        const until = this.#now() + this.#plan.file.sidecar.expiry
        const appliedAt = this.#appliedAt
        const { text, digest } = armedText(this.#plan, this.#id, this.#stage, until, appliedAt)
        if (this.#closed) return digest
        // Recorded before the write, because the sidecar may report the digest immediately.
        this.#digests.push(digest)
        if (this.#digests.length > this.#armed.sidecars.paces.versions) this.#digests.shift()
        await this.#armed.rules.write(text, digest, appliedAt)
        return digest
      })
    this.#writing = written
    return written
  }

  #renewLater(): void {
    clearTimeout(this.#timer)
    if (this.#closed) return
    this.#timer = setTimeout(() => void this.#renew(), this.#plan.file.sidecar.expiry / RENEWALS)
  }

  #notActive(why: string): Error {
    return rejectionError(
      'RULES_NOT_ACTIVE',
      `the rules did not become active: ${why}`,
      `check that the sidecars read ${this.#armed.sidecars.rulesSource.setting}`,
    )
  }

  async #renew(): Promise<void> {
    try {
      // New rules would arm a sidecar again that its guard has disarmed.
      if (!(await this.#armed.sidecars.isGuarded())) await this.#write()
    } catch (error) {
      if (!(error instanceof AdminError)) this.#failure = error
    }
    if (this.#failure === undefined) this.#renewLater()
  }
}
