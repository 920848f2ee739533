import { foreign, integerText, latency, moment, percentage, plainNumber } from '#base'
import type { LoadResult } from '../load/results/result.ts'
import { sumAgents } from '../load/results/agent-result.ts'
import { type Cell, cell, type ReportTable, withoutEmpty } from '../report/report-table.ts'
import { GATE_COLUMNS, gateCells, number } from '../report/run-tables.ts'
import type { ExperimentResult, PhaseResult, StageResult } from './experiment-result.ts'
import { type CallMeasure, measuredOf } from './gate.ts'

export type Phase = PhaseResult | StageResult

/** Returns all phases of a run in order. */
export function phasesOf(
  result: Pick<ExperimentResult, 'before' | 'stages' | 'after'>,
): readonly Phase[] {
  const { before, stages, after } = result
  return [before, ...stages, ...(after === null ? [] : [after])]
}

/** Returns the expected samples in words after the sampled ones; empty when they are not known. */
export function expectedText(expected: number | null | undefined): string {
  return typeof expected === 'number' ? ` (${expectedNumber(expected)} expected)` : ''
}

function expectedNumber(expected: number | null | undefined): string {
  return typeof expected === 'number' ? plainNumber(Number(expected.toFixed(1))) : ''
}

/** A metric of a phase; null where the phase does not have it. */
export interface Metric {
  readonly metric: string
  readonly unit: 'count' | 'share' | 'ms'
  readonly of: (phase: Phase) => number | null
}

const ofCalls = (metric: CallMeasure, unit: Metric['unit']): Metric => {
  return { metric, unit, of: ({ load }) => measuredOf(load)[metric] }
}

export const METRICS: readonly Metric[] = [
  { metric: 'calls', unit: 'count', of: ({ load }) => load?.counts.calls ?? null },
  { metric: 'injected', unit: 'count', of: (phase) => ('applied' in phase ? phase.applied : null) },
  ofCalls('success', 'share'),
  ofCalls('errors', 'share'),
  ofCalls('p50', 'ms'),
  ofCalls('p95', 'ms'),
  ofCalls('p99', 'ms'),
]

export function valueText(value: number | null, unit: Metric['unit']): string {
  if (unit === 'share') return percentage(value)
  if (unit === 'ms') return latency(value)
  return value === null ? '-' : integerText(value)
}

/** Tabulates the load of each phase. */
export function phaseTable(result: ExperimentResult): ReportTable {
  const names = ['sampled', 'expected', ...METRICS.map(({ metric }) => metric)]
  return {
    title: 'Phases',
    columns: [{ name: 'Phase' }, ...names.map(number)],
    rows: phasesOf(result).map((phase) => {
      const isStage = 'sampled' in phase
      const samples = isStage
        ? [integerText(phase.sampled), expectedNumber(phase.expected)]
        : ['-', '-']
      const values = METRICS.map(({ unit, of }) => valueText(of(phase), unit))
      return [phase.label, ...samples, ...values].map((text) => cell(foreign(text)))
    }),
  }
}

/** Tabulates the gates of each phase with their margins. */
export function marginTable({ gates }: ExperimentResult): ReportTable {
  return withoutEmpty({
    title: 'Gates and margins',
    about: 'Over the whole phase. The gates of abortOn are also checked over the last seconds.',
    columns: [{ name: 'Phase' }, ...GATE_COLUMNS],
    rows: gates.map((gate) => [
      cell(foreign(gate.phase)),
      ...gateCells(gate, `${gate.gate} (${gate.from})`),
    ]),
  })
}

/** Returns what sidecars counted from the first stage on: a verdict may come after its stage. */
export function agentsOf({ stages, after }: ExperimentResult): Pick<LoadResult, 'agents'> {
  const all = [...stages, ...(after === null ? [] : [after])].flatMap(
    ({ load }) => load?.agents ?? [],
  )
  if (all.length === 0) return {}
  return { agents: { ...sumAgents(all), waiting: all.at(-1)!.waiting } }
}

/** The names of events, and how they are shown. */
const KINDS: Readonly<Record<string, Cell>> = {
  phase: { text: 'Phase' },
  note: { text: 'Note' },
  injection: { text: 'Fault', tone: 'injected' },
  real_error: { text: 'Real error', tone: 'real' },
  detection: { text: 'Detected', tone: 'bad' },
  alert: { text: 'Alert' },
  end: { text: 'Ended', tone: 'bad' },
  rollback: { text: 'Rollback' },
  recovery: { text: 'Recovery', tone: 'good' },
}

/** Tabulates the recorded events with the time since the start. */
export function timelineTable({ facts, startedAt }: ExperimentResult): ReportTable {
  const start = Date.parse(startedAt)
  return {
    title: 'What happened',
    about: `Recorded events. Times are relative to ${moment(startedAt)}.`,
    columns: [{ name: 'Time' }, { name: 'Event' }, { name: 'Fact' }],
    rows: facts.map(({ at, kind, text }) => {
      const seconds = (Date.parse(at) - start) / 1000
      return [
        cell(`${seconds < 0 ? '-' : '+'}${Math.abs(seconds).toFixed(1)} s`),
        KINDS[kind] ?? cell(foreign(kind, 20)),
        cell(foreign(text, 300)),
      ]
    }),
  }
}
