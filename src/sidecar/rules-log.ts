import { isAhead } from '../rules/select/selection.ts'
import { type RuleSet, unanchoredRules } from '../rules/match/rule-set.ts'
import { resolve } from 'node:path'
import { shortDigest } from '../base/digest.ts'
import type { Reload } from '../rules/watch/active-rules.ts'
import type { RulesFile } from '../rules/file/schema.ts'
import type { Disarmed } from '../rules/guard/arming.ts'
import { problemLines } from '../rules/file/problem.ts'
import type { Logger } from '../telemetry/log.ts'
import type { RunRules } from './rules-options.ts'

const IMPORTED = 'the rules come from another tool; these fields differ in Squall'
const IDLE = 'faults that cannot act on stdio; squall explain shows why'
const UNANCHORED =
  'rules without appliedAt: their timing starts now, and restarts in every new pod; squall apply sets appliedAt'
const AHEAD =
  'appliedAt of rules is in the future: up to an hour ahead counts as now; check the clock of the node'
/** Limits the elements of a list in one log entry. */
const MAX_PROBLEMS = 20

/** Logs each change of the rules once; the level error is for failures inside Squall. */
export class RulesLog {
  readonly #logger: Logger
  readonly #path: string | undefined
  /** Names the faults that act without rules. */
  readonly #others: string
  readonly #isForPeople: boolean
  readonly #idleIn: (file: RulesFile) => readonly string[]
  #armed = true
  #hasRules = false

  /**
   * The options name the path of the rules, and the other faults. People get short digests, and
   * problems with their place in the text. `idleIn` returns the faults of a file that can never act,
   * each with its reason.
   */
  constructor(
    logger: Logger,
    { path, denyTemporaryFaults: denied, headerFaults }: RunRules,
    isForPeople: boolean,
    idleIn: (file: RulesFile) => readonly string[] = () => [],
  ) {
    this.#idleIn = idleIn
    this.#logger = logger
    this.#path = path
    const others = [
      ...(denied === undefined ? ['temporary faults'] : []),
      ...(headerFaults === undefined ? [] : ['faults of request headers']),
    ]
    this.#others = others.length === 0 ? 'no faults act' : `only ${others.join(' and ')} act`
    this.#isForPeople = isForPeople
  }

  /** Logs a version of the rules, and the seed of the active ones. */
  reloaded({ version, generation }: Reload, seed: string): void {
    const digest = this.#isForPeople ? shortDigest(version.digest) : version.digest
    switch (version.kind) {
      case 'rules': {
        const rules = version.file.rules.length
        this.#hasRules = rules > 0
        const { enabled } = version.file
        const fields = { digest, generation, rules, enabled, seed: Number(seed) }
        this.#logger.info(fields, 'active rules')
        this.#listed('fields', version.imported ?? [], IMPORTED)
        this.#listed('faults', this.#idleIn(version.file), IDLE)
        return
      }
      case 'absent':
        this.#hasRules = false
        this.#logger.warn(
          { digest, path: this.#path && resolve(this.#path), reason: version.reason },
          `no rules; ${this.#others}`,
        )
        return
      case 'rejected': {
        const all = version.problems.flatMap((file) => problemLines(file).trimEnd().split('\n'))
        // A problem has three lines where its place is shown.
        const frames = this.#isForPeople ? version.frames?.slice(0, 3 * MAX_PROBLEMS) : undefined
        const problems = frames ?? all.slice(0, MAX_PROBLEMS)
        const fields = { digest, count: all.length, problems }
        const then = this.#hasRules ? 'the previous version stays active' : this.#others
        this.#logger.warn(fields, `the rules are invalid; ${then}`)
      }
    }
  }

  #listed(what: string, all: readonly string[], message: string): void {
    if (all.length === 0) return
    this.#logger.warn({ count: all.length, [what]: all.slice(0, MAX_PROBLEMS) }, message)
  }

  /** Logs rules that have a duration but no start, and those that start ahead of this clock. */
  times(ruleSet: RuleSet, now: number): void {
    const ahead = ruleSet.rules
      .filter(({ appliedAt }) => isAhead(appliedAt, now))
      .map(({ name }) => name)
    this.#listed('rules', unanchoredRules(ruleSet), UNANCHORED)
    this.#listed('rules', ahead, AHEAD)
  }

  /** Logs expired rules. */
  expired(names: readonly string[]): void {
    const fields = { count: names.length, rules: names.slice(0, MAX_PROBLEMS) }
    this.#logger.info(fields, 'rules have expired')
  }

  /** Logs that rules were armed or disarmed. */
  arming(reasons: readonly Disarmed[]): void {
    const armed = reasons.length === 0
    if (armed === this.#armed && armed) return
    this.#armed = armed
    if (armed) this.#logger.info({}, 'armed')
    else {
      const why = reasons.map(({ by, reason }) => ({ by, reason }))
      this.#logger.warn({ reasons: why }, 'disarmed')
    }
  }

  /** Logs that the guard disarmed the rules because of real errors. */
  tripped(reason: string): void {
    this.#logger.warn({ reason }, 'the guard disarmed all rules')
  }

  /** Logs that a condition of `--rollback-on` disarmed the rules. */
  rolledBack(reason: string): void {
    this.#logger.warn(
      { reason },
      '--rollback-on disarmed all rules; squall resume -t arms them again',
    )
  }

  /** Logs that the usual number of calls is not known for a condition. */
  unchecked(condition: string): void {
    this.#logger.warn(
      { condition },
      'too few calls before the rules became active: this --rollback-on condition is not checked',
    )
  }

  /** Logs a failure to watch the rules. */
  trouble(message: string): void {
    this.#logger.warn({}, message)
  }
}
