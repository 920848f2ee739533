import { setTimeout as sleep } from 'node:timers/promises'
import { plain, quoted } from '../../base/text/foreign-text.ts'
import { durationText } from '../../base/units.ts'
import { isRecord } from '../../base/values.ts'
import { parseRules } from '../file/parse.ts'
import { type Problem, sentence } from '../file/problem.ts'
import type { RuleSpec } from '../file/rule-spec.ts'
import { ruleTexts } from '../file/rule-text.ts'
import type { CompiledRule } from '../match/compiled-rule.ts'
import { windowEnd } from '../select/selection.ts'
import type { ActiveRules } from './active-rules.ts'
import type { TemporaryRule } from './temporary-rules.ts'

/** The most temporary faults at a time. */
export const MAX_TEMPORARY = 1_000
/** The longest time until a temporary fault ends. */
export const MAX_LASTING_MS = 24 * 3_600_000

/** The clock may be set, or the machine may sleep: ends are looked at as often. */
export const CHECK_EVERY_MS = 10_000
const MAX_SHOWN_PROBLEMS = 5
const NO_END =
  'requires `for`, such as "30s": a temporary fault ends by itself (with `repeat`, set `until`)'

/**
 * The reason why a fault is not added: `invalid` for a rule with errors, `conflict` for a state that
 * does not allow it, `disarmed` where no rule may act.
 */
export interface RejectedFault {
  readonly rejected: 'invalid' | 'conflict' | 'disarmed'
  readonly message: string
}

/**
 * Adds and removes rules of no file. They precede the rules of the file, survive its reloads, and
 * end with the process at the latest.
 */
export class TemporaryFaults {
  readonly #rules: ActiveRules
  readonly #onExpired: (names: readonly string[]) => void
  readonly #denial: string | undefined
  readonly #checkEvery: number
  #waiting = new AbortController()

  /** `onExpired` gets the names of faults whose time is over. With a denial, none is added. */
  constructor(
    rules: ActiveRules,
    onExpired: (names: readonly string[]) => void = () => undefined,
    denial?: string,
    checkEvery = CHECK_EVERY_MS,
  ) {
    this.#rules = rules
    this.#onExpired = onExpired
    this.#denial = denial
    this.#checkEvery = checkEvery
  }

  /** The faults that have not ended, in the order in which they were added. */
  list(): readonly TemporaryRule[] {
    this.#expire()
    return this.#rules.temporary.list
  }

  /**
   * Checks a rule as in a rules file, and adds it. A rule without a name gets one with this
   * beginning.
   */
  add(given: unknown, prefix = 'added'): TemporaryRule | RejectedFault {
    this.#expire()
    if (this.#denial !== undefined) {
      return rejected('conflict', `nothing was added: ${plain(this.#denial)}`)
    }
    const read = this.#read(given, prefix)
    if ('rejected' in read) return read
    const { rule, text } = read
    const { arming, file, temporary } = this.#rules
    if (!arming.armed || !file.enabled) {
      const why = arming.reasons[0]?.reason ?? 'the rules file sets enabled: false'
      return rejected('disarmed', `nothing was added: rules are disarmed: ${why}`)
    }
    if (temporary.list.length >= MAX_TEMPORARY) {
      return rejected(
        'conflict',
        `there are already ${MAX_TEMPORARY} temporary faults; remove some`,
      )
    }
    if (this.#names().has(rule.name)) {
      const taken = `a rule ${quoted(rule.name)} already exists; remove it, or use another name`
      return rejected('conflict', taken)
    }
    const added = this.#add(rule, text)
    if ('rejected' in added) return added
    const { forbidden } = added.rule
    if (forbidden !== undefined) {
      const why = `this sidecar does not allow the fault ${forbidden} (--allow-faults)`
      return rejected('conflict', why)
    }
    this.#follow()
    return added
  }

  /** Removes a fault; returns false when there is none of this name. */
  remove(name: string): boolean {
    return this.clear((rule) => rule.name === name) > 0
  }

  /** Removes all faults, or those that a test selects; returns their number. */
  clear(isMeant: (rule: CompiledRule) => boolean = () => true): number {
    this.#expire()
    return this.#rules.temporary.remove(isMeant).length
  }

  /** Ends the wait for the next fault to expire. */
  close(): void {
    this.#waiting.abort()
  }

  /** Removes the faults whose time is over, and wakes what sleeps for them. */
  #expire(): void {
    const now = this.#rules.clock()
    const expired = this.#rules.temporary.remove((rule) => this.#endOf(rule) <= now)
    if (expired.length > 0) this.#onExpired(expired.map(({ rule }) => rule.name))
  }

  /** Waits until the next fault ends, or until the next look at the clock. */
  #follow(): void {
    this.#waiting.abort()
    const ends = this.#rules.temporary.list.map(({ rule }) => this.#endOf(rule))
    if (ends.length === 0) return
    const left = Math.ceil(Math.min(...ends) - this.#rules.clock())
    const wait = Math.max(1, Math.min(left, this.#checkEvery))
    this.#waiting = new AbortController()
    const over = (): void => {
      this.#expire()
      this.#follow()
    }
    const { signal } = this.#waiting
    void sleep(wait, undefined, { signal, ref: false }).then(over, () => undefined)
  }

  #endOf(rule: CompiledRule): number {
    return windowEnd(rule.selection, this.#rules.states.of(rule)?.since ?? -Infinity)
  }

  #add(rule: RuleSpec, text: string): TemporaryRule | RejectedFault {
    try {
      return this.#rules.temporary.add(rule, text)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      return rejected('invalid', `cannot be used: ${why}`)
    }
  }

  #read(
    given: unknown,
    prefix: string,
  ): { readonly rule: RuleSpec; readonly text: string } | RejectedFault {
    const now = this.#rules.clock()
    if (!isRecord(given)) return rejected('invalid', 'must be a rule: an object with `faults`')
    const named = 'name' in given ? given : { name: this.#freeName(prefix), ...given }
    const parsed = parseRules(JSON.stringify({ rules: [named] }))
    if (!parsed.ok) return rejected('invalid', problemsText(parsed.problems))
    const rule = parsed.file.rules[0]!
    const lasting = rule.repeat === undefined ? rule.for : undefined
    const end = windowEnd({ from: rule.from, until: rule.until, for: lasting }, now)
    if (end === Infinity) return rejected('invalid', NO_END)
    if (end <= now) return rejected('invalid', '`until` is in the past')
    if (end - now > MAX_LASTING_MS) {
      const most = `ends in more than ${durationText(MAX_LASTING_MS)}; use a shorter \`for\``
      return rejected('invalid', most)
    }
    const [text = ''] = ruleTexts({ rules: [named] })
    return { rule: { ...rule, appliedAt: now }, text }
  }

  #names(): ReadonlySet<string> {
    return new Set(this.#rules.ruleSet.rules.map(({ name }) => name))
  }

  /** Returns the first free name, so that names, and with them metrics, do not grow in number. */
  #freeName(prefix: string): string {
    const names = this.#names()
    let n = 1
    while (names.has(`${prefix}-${n}`)) n++
    return `${prefix}-${n}`
  }
}

function rejected(reason: RejectedFault['rejected'], message: string): RejectedFault {
  return { rejected: reason, message }
}

function problemsText(problems: readonly Problem[]): string {
  const shown = problems
    .slice(0, MAX_SHOWN_PROBLEMS)
    .map((each) => sentence({ ...each, path: each.path.replace(/^rules\[0\]\.?/, '') }))
  const more = problems.length - shown.length
  return more > 0 ? `${shown.join('. ')}. ${more} more` : shown.join('. ')
}
