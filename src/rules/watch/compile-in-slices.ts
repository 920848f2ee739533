import { setImmediate as nextTurn } from 'node:timers/promises'
import { compileRule, ruleSetOf, seedOf, type CompileOptions } from '../match/compile.ts'
import type { CompiledRule } from '../match/compiled-rule.ts'
import type { RuleSet } from '../match/rule-set.ts'
import type { RuleFileSpec } from '../file/rule-spec.ts'

/** The time for which calls wait while rules are compiled, in milliseconds. */
const SLICE = 4
/** Limits a slice where the clock stands still or jumps. */
const MAX_RULES = 64

/**
 * Compiles a large file in slices, so that calls continue. Returns undefined when the signal
 * aborts.
 */
export async function compileInSlices(
  file: RuleFileSpec,
  options: CompileOptions,
  clock: () => number,
  signal: AbortSignal,
): Promise<RuleSet | undefined> {
  const seed = seedOf(file)
  const rules: CompiledRule[] = []
  let since = clock()
  let count = 0
  for (const [index, rule] of file.rules.entries()) {
    if (++count > MAX_RULES || clock() - since >= SLICE) {
      await nextTurn()
      if (signal.aborted) return undefined
      since = clock()
      count = 0
    }
    rules.push(compileRule(rule, index, seed, options))
  }
  // The index is built in one slice.
  await nextTurn()
  return signal.aborted ? undefined : ruleSetOf(file, rules, options)
}
