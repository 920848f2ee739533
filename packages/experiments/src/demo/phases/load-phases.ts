import type { LoadResilience } from '../../load/load-options.ts'
import { endingsOf } from '../../report/endings.ts'
import { integerText, percentage } from '#base'
import { FAN_OUT, type Loaded, demoLoad } from '../demo-load.ts'
import { type Check, faultsSeen, type Phase, type PhaseResult } from '../phase.ts'
import { binomialBounds } from '../../indicators/indicators.ts'
import { TWO_PERCENT } from '../rules-texts.ts'

/** Describes a load of the demo. */
interface LoadPhase {
  readonly key: string
  readonly title: string
  readonly column: string
  /** The text shown before it runs. */
  readonly lines: readonly string[]
  readonly rules: string
  readonly resilience?: Partial<LoadResilience>
  /** The time of a load before, which is not counted. */
  readonly warmUpMs?: number
  readonly checks: (loaded: Loaded) => readonly Check[]
}

const DURATION_MS = 1_300
const SEED = 7

/** Returns a phase that loads the sidecar while its rules are active. */
function loadPhase(spec: LoadPhase): Phase {
  const { key, title, column, lines, rules, resilience = {}, warmUpMs, checks: check } = spec
  return {
    key,
    title,
    async run(stage, screen): Promise<PhaseResult> {
      for (const line of lines) screen.line(`   ${line}`)
      await stage.edit(rules)
      if (warmUpMs !== undefined)
        await demoLoad(stage, screen, { seed: SEED, durationMs: warmUpMs })
      const load = { seed: SEED, durationMs: DURATION_MS, resilience }
      const loaded = await demoLoad(stage, screen, load)
      const { result, squall } = loaded
      const { counts, indicators, errors } = result
      const { injected, real } = endingsOf(result)
      screen.line(
        `     ${integerText(counts.calls)} calls in ${integerText(counts.tasks)} tasks of ${FAN_OUT}; ` +
          `failed: ${injected} injected, ${real} real`,
      )
      screen.line(
        `     tasks that failed: ${screen.paint('strong', percentage(indicators.blastRadius))}` +
          (resilience.retries === undefined ? '' : `, with ${integerText(counts.retries)} retries`),
      )
      const checks = check(loaded)
      for (const { ok, what } of checks) screen.check(ok, what)
      return {
        numbers: { counts, indicators, latency: result.latency.summary, errors, squall },
        checks,
        run: { column, about: `${title}. ${lines.join(' ')}`, result },
      }
    },
  }
}

/** The load with no active rule. */
export const clean = loadPhase({
  key: 'clean',
  title: 'Load without rules',
  column: 'no rule',
  lines: [
    'Tasks make 8 calls in parallel; a task fails when one of its calls fails.',
    'A warm-up runs first and is not counted.',
  ],
  rules: '',
  warmUpMs: 1_500,
  checks: ({ result, counted }) => [
    {
      what: 'every call succeeded; Squall changed none',
      ok: result.indicators.tcsr === 1 && counted.injected === 0 && result.faults.length === 0,
    },
  ],
})

// Only one run in a million is beyond this by chance.
const DEVIATIONS = 5

/** The same load with errors injected into two of a hundred calls, without retries. */
export const twoPercent = loadPhase({
  key: 'twoPercent',
  title: 'A rule injects errors into 2 % of the calls',
  column: 'rule: 2 %',
  lines: ['The client does not retry.'],
  rules: TWO_PERCENT,
  checks: ({ result, counted }) => {
    const { blastRadius, blastRadiusPredicted } = result.indicators
    const predicted = blastRadiusPredicted ?? 0
    const { low, high } = binomialBounds(predicted, result.counts.tasks, DEVIATIONS)
    const endings = endingsOf(result)
    const { injected, real } = counted
    return [
      {
        what: `as predicted: 1 - (1 - e)^8 = ${percentage(predicted)}, where e is the share of failed calls`,
        ok: blastRadius !== null && blastRadius >= low && blastRadius <= high && blastRadius > 0,
      },
      {
        what: 'each error carries the rule’s marker, and Squall counted the same number',
        ok:
          endings.injected === injected &&
          endings.injected === result.counts.calls - result.counts.success &&
          real === 0,
      },
    ]
  },
})

/** The same faults with a client that retries. */
export const withRetries = loadPhase({
  key: 'withRetries',
  title: 'The same rule, with retries',
  column: '+ retries',
  lines: ['Two retries within a budget of 20 %, and one of 8 calls is optional.'],
  rules: TWO_PERCENT,
  resilience: { retries: 2, retryBudget: 0.2, degrade: 1 },
  checks: ({ result, counted }) => {
    const seen = faultsSeen(result)
    return [
      {
        what: `${seen} calls got an injected error and were retried`,
        ok: seen === counted.injected && seen > 0 && result.counts.retries > 0,
      },
      // Three consecutive failures happen to 8 of a million calls: more than two tasks are not a
      // coincidence.
      { what: 'almost no task failed', ok: result.counts.failedTasks <= 2 },
    ]
  },
})
