import { sameJson } from '../../base/values.ts'
import type { Arming } from '../guard/arming.ts'
import { compileInSlices } from './compile-in-slices.ts'
import {
  type CompileOptions,
  compileRules,
  compileTemporary,
  withTemporary,
} from '../match/compile.ts'
import { type PodSelf, isAboutPods } from '../match/pod-match.ts'
import type { RuleSet } from '../match/rule-set.ts'
import type { RuleStates } from '../select/rule-states.ts'
import { fileProblem } from '../file/problem.ts'
import type { RulesVersion } from '../file/rules-file.ts'
import { TemporaryRules } from './temporary-rules.ts'

/** The result of loading one version of the rules. */
export interface Reload {
  readonly version: RulesVersion
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Counts the versions that became active. */
  readonly generation: number
}

/** The parts of the active rules. */
export interface RulesParts {
  readonly states: RuleStates
  readonly arming: Arming
  readonly limits: CompileOptions
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  readonly onReload?: (reload: Reload) => void
}

type RulesFound = RulesVersion & { readonly kind: 'rules' }

/** A version that is being compiled in slices. */
interface Compiling {
  readonly version: RulesFound
  readonly overtaken: AbortController
  /** A version found meanwhile, which follows. */
  rejected: RulesVersion | undefined
}

/** Larger files are compiled in slices, because calls would be delayed. */
const MAX_AT_ONCE = 64

/** Holds the active rules in one reference, which each plan reads once. */
export class ActiveRules {
  readonly states: RuleStates
  readonly arming: Arming
  readonly clock: () => number
  readonly temporary: TemporaryRules
  #limits: CompileOptions
  readonly #onReload: (reload: Reload) => void
  readonly #none: RuleSet
  /** The rules of the file alone. */
  #file: RuleSet
  #ruleSet: RuleSet
  #current: Reload | undefined
  #last: Reload | undefined
  #compiling: Compiling | undefined
  #closed = false

  constructor({ states, arming, limits, clock, onReload = () => undefined }: RulesParts) {
    this.states = states
    this.arming = arming
    this.clock = clock
    this.#limits = limits
    this.#onReload = onReload
    this.temporary = new TemporaryRules(
      (spec, order) => compileTemporary(spec, order, this.#file.written, this.#limits),
      () => this.#activate(this.clock()),
    )
    this.#none = this.#file = this.#ruleSet = compileRules({ rules: [] }, limits)
  }

  /** The temporary rules and those of the file. */
  get ruleSet(): RuleSet {
    return this.#ruleSet
  }

  /** The rules of the file, without temporary ones. */
  get file(): RuleSet {
    return this.#file
  }

  /** The active version; undefined before the first. */
  get current(): Reload | undefined {
    return this.#current
  }

  /** The last version, also a rejected one. */
  get last(): Reload | undefined {
    return this.#last
  }

  /**
   * Takes a found version. A rejected version changes nothing. A large version becomes active
   * later: versions stay in order, and a version that a later one replaces meanwhile never becomes
   * active.
   */
  take(version: RulesVersion): void {
    const newest = this.#compiling?.rejected ?? this.#compiling?.version ?? this.#last?.version
    if (this.#closed || version.digest === newest?.digest) return
    if (version.kind === 'rejected') {
      if (this.#compiling === undefined) this.#record(version)
      else this.#compiling.rejected = version
      return
    }
    if (version.digest === this.#compiling?.version.digest) {
      this.#compiling.rejected = undefined
      return
    }
    this.#compiling?.overtaken.abort()
    this.#compiling = undefined
    // Before the first version there are no calls to delay.
    const isFirst = this.#last === undefined
    if (version.kind === 'absent') this.#adopt(version, this.#none)
    else if (isFirst || version.file.rules.length <= MAX_AT_ONCE) this.#takeNow(version)
    // A listener may throw; the rules are active then, and the error has no recipient.
    else this.#takeLater(version).catch(() => undefined)
  }

  /** Compiles the rules again for changed labels of the pod. They keep their state. */
  identify(self: PodSelf): void {
    if (sameJson(self, this.#limits.self)) return
    this.#limits = { ...this.#limits, self }
    this.temporary.identify()
    const version = this.#compiling?.version ?? this.#current?.version
    if (this.#closed || version?.kind !== 'rules') return
    if (!version.file.rules.some(({ match }) => match !== undefined && isAboutPods(match))) return
    const rejected = this.#compiling?.rejected
    this.#compiling?.overtaken.abort()
    this.#compiling = undefined
    if (version.file.rules.length <= MAX_AT_ONCE) this.#takeNow(version)
    else this.#takeLater(version, rejected).catch(() => undefined)
  }

  /** Ignores further versions. */
  close(): void {
    this.#closed = true
    this.#compiling?.overtaken.abort()
    this.#compiling = undefined
  }

  #takeNow(version: RulesFound): void {
    let ruleSet: RuleSet
    try {
      ruleSet = compileRules(version.file, this.#limits)
    } catch (error) {
      this.#record(unusable(version, error))
      return
    }
    this.#adopt(version, ruleSet)
  }

  async #takeLater(version: RulesFound, rejected?: RulesVersion): Promise<void> {
    const compiling: Compiling = { version, overtaken: new AbortController(), rejected }
    this.#compiling = compiling
    const { signal } = compiling.overtaken
    let ruleSet: RuleSet | undefined
    let unused: RulesVersion | undefined
    try {
      ruleSet = await compileInSlices(version.file, this.#limits, this.clock, signal)
    } catch (error) {
      unused = unusable(version, error)
    }
    if (signal.aborted) return
    this.#compiling = undefined
    if (ruleSet !== undefined) this.#adopt(version, ruleSet)
    if (unused !== undefined) this.#record(unused)
    if (compiling.rejected !== undefined) this.#record(compiling.rejected)
  }

  #adopt(version: RulesVersion, ruleSet: RuleSet): void {
    const at = this.clock()
    this.#file = ruleSet
    this.#activate(at)
    if (version.digest !== this.#current?.version.digest) this.arming.lift('guard')
    this.#current = { version, at, generation: (this.#current?.generation ?? 0) + 1 }
    this.#last = this.#current
    this.#onReload(this.#last)
  }

  #activate(at: number): void {
    this.#ruleSet = withTemporary(
      this.#file,
      this.temporary.list.map(({ rule }) => rule),
    )
    this.states.adopt(this.#ruleSet, at)
  }

  #record(version: RulesVersion): void {
    this.#last = { version, at: this.clock(), generation: this.#current?.generation ?? 0 }
    this.#onReload(this.#last)
  }
}

/** Treats rules that passed all checks but cannot be compiled as rejected. */
function unusable({ digest }: RulesFound, error: unknown): RulesVersion {
  const message = `cannot be used: ${error instanceof Error ? error.message : String(error)}`
  return { kind: 'rejected', digest, problems: [fileProblem('', 'unreadable', message)] }
}

/**
 * Returns a clock that never goes back: the later of the wall clock and of the time since its
 * creation. When the wall clock is set back, no expired rule becomes active again, and no rule
 * lasts longer.
 */
export function steadyClock(
  wall: () => number = Date.now,
  passed: () => number = () => performance.now(),
): () => number {
  let ahead = wall() - passed()
  return () => {
    const now = wall()
    const steady = passed() + ahead
    // The wall clock was set forward: continue from the later time.
    if (now > steady) ahead += now - steady
    return now > steady ? now : steady
  }
}
