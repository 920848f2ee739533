import { foreign, integerText, latency, moment, percentage, plainNumber } from '#base'
import { duplicatesText, perTask, verdictsText } from '../report/agent-text.ts'
import { type Cell, cell, type ReportTable, withoutEmpty } from '../report/report-table.ts'
import { GATE_COLUMNS, gateCells, number } from '../report/run-tables.ts'
import type { ExperimentResult, PhaseResult, StageResult } from './experiment-result.ts'

/** Returns all phases of a run in order. */
export function phasesOf(
  result: Pick<ExperimentResult, 'before' | 'stages' | 'after'>,
): readonly (PhaseResult | StageResult)[] {
  const { before, stages, after } = result
  return [before, ...stages, ...(after === null ? [] : [after])]
}

/** Returns the failed share of the calls of a phase. */
export function errorShare({ load }: PhaseResult): number | null {
  if (load === undefined || load.counts.calls === 0) return null
  return (load.counts.calls - load.counts.responded) / load.counts.calls
}

/** Returns the expected samples in words after the sampled ones; empty when they are not known. */
export function expectedText(expected: number | null | undefined): string {
  return typeof expected === 'number' ? ` (${expectedNumber(expected)} expected)` : ''
}

function expectedNumber(expected: number | null | undefined): string {
  return typeof expected === 'number' ? plainNumber(Number(expected.toFixed(1))) : ''
}

/** Tabulates the load of each phase. */
export function phaseTable(result: ExperimentResult): ReportTable {
  return {
    title: 'Phases',
    columns: [
      { name: 'Phase' },
      ...['Calls', 'Success', 'Errors', 'p50', 'p95', 'Sampled', 'Expected', 'Injected'].map(
        number,
      ),
    ],
    rows: phasesOf(result).map((phase) => {
      const { load } = phase
      const summary = load?.latency.summary
      const counts =
        'sampled' in phase
          ? [integerText(phase.sampled), expectedNumber(phase.expected), integerText(phase.applied)]
          : ['', '', '']
      return [
        phase.label,
        integerText(load?.counts.calls ?? 0),
        percentage(load?.indicators.tcsr ?? null),
        percentage(errorShare(phase)),
        latency(summary?.p50 ?? null),
        latency(summary?.p95 ?? null),
        ...counts,
      ].map((text) => cell(foreign(text)))
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

/** Tabulates the tasks of agents in each phase; empty without a sidecar that counts them. */
export function agentsTable(result: ExperimentResult): ReportTable {
  const names = [
    'Tasks',
    'Failed',
    'Blast radius',
    'TCAF',
    'Retries per task',
    'Wasted',
    'Changed results used',
  ]
  return {
    title: 'Agents',
    about: 'Counted by the sidecar, for all of its clients.',
    columns: [
      { name: 'Phase' },
      ...names.map(number),
      { name: 'Executed twice' },
      { name: 'Verdicts' },
    ],
    rows: phasesOf(result).flatMap(({ label, load }) => {
      const { agents } = load ?? {}
      if (agents === undefined) return []
      const { tasks, failed, calls, retries, wasted, silent } = agents.tasks
      const texts = [
        label,
        integerText(tasks),
        integerText(failed),
        percentage(perTask(agents, failed)),
        plainNumber(perTask(agents, calls)),
        plainNumber(perTask(agents, retries)),
        integerText(wasted),
        integerText(silent),
        duplicatesText(agents),
        verdictsText(agents),
      ]
      return [texts.map((text) => cell(foreign(text, 600)))]
    }),
  }
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
    about: `Recorded events. The times count from ${moment(startedAt)}.`,
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
