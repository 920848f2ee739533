import type { LoadResilience } from '../../load/load-options.ts'
import { endingsOf } from '../../report/endings.ts'
import { percentage, wholeNumber } from '../../report/shown-numbers.ts'
import { demoLoad, FAN_OUT, type Loaded } from '../demo-load.ts'
import type { Check, Phase, PhaseResult } from '../phase.ts'

/** The differences between the loads of the demo. */
export interface LoadPhase {
  readonly key: string
  readonly title: string
  readonly column: string
  /** The text shown before it runs. */
  readonly lines: readonly string[]
  readonly rules: string
  readonly resilience?: Partial<LoadResilience>
  checks(loaded: Loaded): readonly Check[]
}

const DURATION_MS = 1_300
const SEED = 7

/** A phase that loads the sidecar with the rules of its own active. */
export function loadPhase(spec: LoadPhase): Phase {
  const { key, title, column, lines, rules, resilience = {} } = spec
  return {
    key,
    title,
    async run(stage, screen): Promise<PhaseResult> {
      for (const line of lines) screen.line(`   ${line}`)
      await stage.edit(rules)
      const loaded = await demoLoad(stage, screen, {
        seed: SEED,
        durationMs: DURATION_MS,
        resilience,
      })
      const { result, counted } = loaded
      const { counts, indicators } = result
      const { injected, real } = endingsOf(result)
      const { faults } = counted.total()
      screen.line(
        `     ${wholeNumber(counts.calls)} calls in ${wholeNumber(counts.tasks)} tasks of ${FAN_OUT}; ` +
          `failed: ${injected} injected, ${real} real`,
      )
      screen.line(
        `     tasks that failed: ${screen.paint('strong', percentage(indicators.blastRadius))}` +
          (resilience.retries === undefined ? '' : `, with ${wholeNumber(counts.retries)} retries`),
      )
      const checks = spec.checks(loaded)
      for (const { ok, what } of checks) screen.check(ok, what)
      return {
        numbers: {
          counts,
          indicators,
          latency: result.latency.summary,
          errors: result.errors,
          squall: counted,
        },
        checks,
        run: { column, about: `${title}. ${lines.join(' ')}`, result, faults },
      }
    },
  }
}
