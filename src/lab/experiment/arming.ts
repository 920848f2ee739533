import { AdminError } from '../../admin/api-client.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { armedText } from './armed-rules.ts'
import type { Plan, Stage } from './plan.ts'
import { rejectionError } from './rejection.ts'
import { RulesChangedError, type RulesFile } from './rules-file.ts'
import { askState, firstProblem } from './sidecar-admin.ts'

/** Long enough for a sidecar that polls its rules file because it has no inotify. */
export const ACTIVATION_MS = 10_000
const POLL_MS = 25

/** Describes the sidecar whose rules are replaced. */
export interface ArmedSidecar {
  /** The milliseconds by which the clock of the sidecar is ahead. */
  readonly aheadMs: number
  /** The time limit for activating new rules. */
  readonly activationMs: number
  /** The digest of the previous rules. */
  readonly before: string | null
  /** True when other rules inject faults, which are suspended during the experiment. */
  readonly suspended: boolean
}

/** Arms the rules of an experiment in a sidecar; they expire unless they are renewed. */
export class Arming {
  readonly #plan: Plan
  readonly #id: string
  readonly #file: RulesFile
  readonly #sidecar: ArmedSidecar
  /** The digests that the sidecar may report: of the last text and of the text before. */
  readonly #digests: string[] = []
  #digestsOfStage: readonly string[] = []
  #stage: Stage | undefined
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<unknown> = Promise.resolve()
  #closed = false
  #failure: unknown
  #withdrawing: Promise<boolean> | undefined
  #restoring: Promise<boolean> | undefined

  constructor(plan: Plan, id: string, file: RulesFile, sidecar: ArmedSidecar) {
    this.#plan = plan
    this.#id = id
    this.#file = file
    this.#sidecar = sidecar
  }

  /** The error that prevented a renewal; the rules expire then. */
  get failure(): unknown {
    return this.#failure
  }

  /** Returns true when the sidecar's rules are those of this experiment. */
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
    // The rules of the previous stage no longer count.
    this.#digests.length = 0
    const digest = await this.#write()
    this.#renewLater()
    const until = performance.now() + this.#sidecar.activationMs
    let why = 'the sidecar did not read them'
    for (;;) {
      const state = await askState(this.#plan.admin, signal).catch((error: unknown) => {
        if (!(error instanceof AdminError)) throw error
        why = error.message
        return undefined
      })
      if (state !== undefined) {
        const { rules, lastReload: last } = state
        if (this.isOurs(rules.digest) && last?.digest === rules.digest) return
        if (last?.digest === digest && last.result === 'rejected') {
          throw notActive(`the sidecar rejected them: ${firstProblem(last)}`)
        }
      }
      if (performance.now() > until || signal.aborted) throw notActive(why)
      await sleep(POLL_MS, undefined, { signal }).catch(() => {})
    }
  }

  /**
   * Removes the rules of the experiment. Suspended rules stay suspended until `restore`, so that the last
   * phase runs under the same rules as the first. Returns false when another program has changed the
   * file.
   */
  withdraw(): Promise<boolean> {
    if (!this.#sidecar.suspended || this.#closed) return this.restore()
    return (this.#withdrawing ??= this.#leaveClaim())
  }

  /** Restores the previous content. Returns false when another program has changed the file. */
  restore(): Promise<boolean> {
    return (this.#restoring ??= this.#restoreFile())
  }

  /** Classifies the rules of the sidecar after `withdraw`. */
  afterWithdrawal(digest: string | null): 'withdrawn' | 'pending' | 'foreign' {
    const restoring = this.#restoring !== undefined
    const before = this.#sidecar.before ?? digest
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
    const restored = await this.#file.restore()
    if (restored) await this.#untilReplaced()
    return restored
  }

  /** Waits until the sidecar has activated the restored rules, so that a next experiment can begin. */
  async #untilReplaced(): Promise<void> {
    const until = performance.now() + this.#sidecar.activationMs
    while (performance.now() < until) {
      const state = await askState(this.#plan.admin).catch(() => undefined)
      const digest = state?.rules.digest ?? null
      if (digest === null || ![...this.#digests, ...this.#digestsOfStage].includes(digest)) return
      await sleep(POLL_MS)
    }
  }

  /** Serializes writes: a renewal must not follow a withdrawal. */
  #write(): Promise<string> {
    const written = this.#writing
      .catch(() => {})
      .then(async () => {
        const until = Date.now() + this.#sidecar.aheadMs + this.#plan.file.sidecar.expiry
        const { text, digest } = armedText(this.#plan, this.#id, this.#stage, until)
        if (this.#closed) return digest
        // Recorded before the write, because the sidecar may report the digest immediately.
        this.#digests.push(digest)
        if (this.#digests.length > 2) this.#digests.shift()
        await this.#file.write(text)
        return digest
      })
    this.#writing = written
    return written
  }

  #renewLater(): void {
    clearTimeout(this.#timer)
    if (this.#closed) return
    this.#timer = setTimeout(() => void this.#renew(), this.#plan.file.sidecar.expiry / 3)
  }

  async #renew(): Promise<void> {
    try {
      const state = await askState(this.#plan.admin)
      // New rules would arm a sidecar again that its guard has disarmed.
      if (!state.reasons.some(({ by }) => by === 'guard')) await this.#write()
    } catch (error) {
      if (!(error instanceof AdminError)) this.#failure = error
    }
    if (this.#failure === undefined) this.#renewLater()
  }
}

function notActive(why: string): Error {
  return rejectionError(
    'RULES_NOT_ACTIVE',
    `the rules did not become active: ${why}`,
    'sidecar.rulesFile must be the --rules file of the sidecar at sidecar.admin',
  )
}
