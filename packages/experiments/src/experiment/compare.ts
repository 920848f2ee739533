import { duration, foreign, latency, moment, shortDigest } from '#base'
import type { ReportTable, TitledRun } from '../report/report-table.ts'
import type { ExperimentResult } from './experiment-result.ts'
import { type Metric, METRICS, type Phase, phasesOf, valueText } from './experiment-tables.ts'

/** Identifies the format of a comparison. Incompatible changes increase the number. */
const COMPARISON_SCHEMA = 'squall.comparison/1'

/** Runs of experiments side by side; the first one is what the others are compared with. */
export type Comparison = ReturnType<typeof compareResults>

const FACTS = [
  'id',
  'name',
  'verdict',
  'stage',
  'code',
  'why',
  'startedAt',
  'squall',
  'server',
  'target',
  'planDigest',
  'rulesDigest',
  'seed',
  'mttdMs',
  'mttrMs',
  'rollbackMs',
] as const satisfies readonly (keyof ExperimentResult)[]

type RunFacts = Pick<ExperimentResult, (typeof FACTS)[number]>

/** Compares runs phase by phase; phases belong together by their labels. */
export function compareResults(results: readonly ExperimentResult[]) {
  const all = results.map((result) => phasesOf(result))
  const labels = [...new Set(all.flat().map(({ label }) => label))]
  // The phase after the stages is the last, also when the runs have different stages.
  labels.sort((a, b) => Number(a === 'after') - Number(b === 'after'))
  return {
    schema: COMPARISON_SCHEMA,
    runs: results.map(
      (result) => Object.fromEntries(FACTS.map((name) => [name, result[name] ?? null])) as RunFacts,
    ),
    phases: labels.map((phase) => {
      const found = all.map((phases) => phases.find(({ label }) => label === phase))
      return { phase, metrics: METRICS.map((metric) => rowOf(metric, found)) }
    }),
  }
}

/**
 * Returns a metric of a phase, with a value for each run: null where a run lacks it. A value differs
 * from the first run by more than chance explains, or by 10 %.
 */
function rowOf({ metric, unit, of }: Metric, phases: readonly (Phase | undefined)[]) {
  const values = phases.map((phase) => (phase === undefined ? null : of(phase)))
  const counts = phases.map((phase) => phase?.load?.counts.calls ?? 0)
  const differs = values.map((value, i) => {
    const [first = null] = values
    if (unit === 'count' || i === 0) return false
    if (value === null || first === null) return value !== first
    return unit === 'share'
      ? sharesDiffer(first, counts[0]!, value, counts[i]!)
      : Math.abs(value - first) > 0.1 * first
  })
  return { metric, unit, values, differs }
}

/** The standard deviations that 95 % of equal shares stay within. */
const Z = 1.96

/**
 * Tests two shares of `n` and `m` calls: returns true when chance explains the difference in less
 * than 5 %.
 */
function sharesDiffer(a: number, n: number, b: number, m: number): boolean {
  const pooled = (a * n + b * m) / (n + m)
  const deviation = Math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
  return Math.abs(a - b) > Z * deviation
}

const MARK = '≠ '

type Fact = readonly [name: string, of: (run: RunFacts) => string]

const COMPARED: readonly Fact[] = [
  ['Name', ({ name }) => name],
  ['Verdict', ({ verdict, stage }) => `${verdict}${stage === null ? '' : ` at ${stage}`}`],
  ['Reason', ({ code }) => code ?? '-'],
  ['Server', ({ server }) => server ?? '-'],
  ['Squall', ({ squall }) => squall],
  ['Target', ({ target }) => target],
  ['Plan', ({ planDigest }) => shortDigest(planDigest)],
  ['Rules', ({ rulesDigest }) => shortDigest(rulesDigest)],
  ['Seed', ({ seed }) => String(seed)],
]

/** Differ from run to run, which is not marked. */
const TIMES: readonly Fact[] = [
  ['Started', ({ startedAt }) => moment(startedAt)],
  ['MTTD', ({ mttdMs }) => timeText(mttdMs)],
  ['MTTR', ({ mttrMs }) => timeText(mttrMs)],
  ['Rollback', ({ rollbackMs }) => timeText(rollbackMs)],
]

/** Returns the tables of a comparison; a value that differs from the first run begins with ≠. */
export function comparisonTables({ runs, phases }: Comparison): readonly ReportTable[] {
  const columnsOf = (name: string) => [
    { name },
    ...runs.map(({ id }) => ({ name: foreign(id), number: true })),
  ]
  const row = (name: string, texts: readonly string[], differs: readonly boolean[]) => [
    { text: name },
    ...texts.map((text, i) => ({ text: foreign(`${differs[i] === true ? MARK : ''}${text}`) })),
  ]
  const compared = COMPARED.map(([name, of]) => {
    const texts = runs.map(of)
    const differs = texts.map((text) => text !== texts[0])
    return row(name, texts, differs)
  })
  return [
    {
      title: 'Runs',
      about:
        '≠ marks a value that differs from the first run: a different text, a share with p < 0.05, or a latency with a difference above 10 %.',
      columns: columnsOf('Run'),
      rows: [...compared, ...TIMES.map(([name, of]) => row(name, runs.map(of), []))],
    },
    ...phases.map(({ phase, metrics }) => ({
      title: `Phase ${foreign(phase, 60)}`,
      columns: columnsOf('Figure'),
      rows: metrics.map(({ metric, unit, values, differs }) => {
        const texts = values.map((value) => valueText(value, unit))
        return row(metric, texts, differs)
      }),
    })),
  ]
}

/** Returns the last stage of each run, for the charts of a report. */
export function comparedRuns(results: readonly ExperimentResult[]): readonly TitledRun[] {
  return results.flatMap(({ id, verdict, before, stages }) => {
    const phase = stages.findLast(({ load }) => load !== undefined) ?? before
    const { load: result, label } = phase
    const title = `${id} ${label === 'before' ? label : `stage ${label}`}`
    return result === undefined ? [] : [{ title, about: verdict, result }]
  })
}

function timeText(ms: number | null): string {
  return ms === null || ms < 1000 ? latency(ms) : duration(ms)
}
