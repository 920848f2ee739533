import { binomialBounds } from '../../indicators/indicators.ts'
import { endingsOf } from '../../report/endings.ts'
import { percentage } from '../../report/shown-numbers.ts'
import { TWO_PERCENT } from '../rules-texts.ts'
import { loadPhase } from './load-phase.ts'

// Beyond this only one run in a million lies by chance.
const DEVIATIONS = 5

/** The same load while two calls in a hundred are broken, and nobody does anything about it. */
export const twoPercent = loadPhase({
  key: 'twoPercent',
  title: 'A rule injects errors into 2 % of the calls',
  column: '2 % broken',
  lines: ['The client does not retry.'],
  rules: TWO_PERCENT,
  checks: ({ result, counted }) => {
    const { blastRadius, blastRadiusPredicted } = result.indicators
    const predicted = blastRadiusPredicted ?? 0
    const { low, high } = binomialBounds(predicted, result.counts.tasks, DEVIATIONS)
    const endings = endingsOf(result)
    const { faults, real } = counted.total()
    return [
      {
        what: `1 - (1 - e)^8 says ${percentage(predicted)}`,
        ok: blastRadius !== null && blastRadius >= low && blastRadius <= high && blastRadius > 0,
      },
      {
        what: 'each error carries the rule’s marker, and Squall counted as many',
        ok:
          endings.injected === faults &&
          endings.injected === result.counts.calls - result.counts.success &&
          real === 0,
      },
    ]
  },
})
