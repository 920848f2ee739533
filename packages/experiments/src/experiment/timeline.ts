import { duration } from '#base'
import type { ExperimentEvent } from './context.ts'
import type { AlertResult, Fact, FactKind, PhaseResult, StageResult } from './experiment-result.ts'

interface Timed extends Omit<Fact, 'at'> {
  readonly at: number
}

/** The times and results that the events do not have. */
export interface MeasuredTimes {
  readonly phases: readonly (PhaseResult | StageResult)[]
  /** By `performance.now()`; undefined when no gate failed, or the target did not recover. */
  readonly detectedAt: number | undefined
  readonly recoveredAt: number | undefined
  readonly rollbackMs: number | null
  readonly alerts: readonly AlertResult[]
}

/** Records the events of an experiment with their times. */
export class Timeline {
  /** With times of `performance.now()`, which never step. */
  readonly #facts: Timed[] = []
  #label = ''
  #injected = false
  #endedAt: number | undefined

  add(event: ExperimentEvent, at = performance.now()): void {
    switch (event.kind) {
      case 'moment':
        if (!this.#injected && (event.applied ?? 0) > 0) {
          this.#injected = true
          this.#add(at, 'injection', `first injected fault appears in the counts of ${this.#label}`)
        }
        return
      case 'phase': {
        const { label, stage } = event
        this.#label = stage === undefined ? label : `stage ${label}`
        return this.#add(at, 'phase', `${this.#label} begins`)
      }
      case 'phase-over':
        return this.#endedAt === undefined
          ? this.#add(at, 'phase', `${this.#label}: ${event.text}`)
          : undefined
      case 'seen':
        this.#endedAt = at
        return this.#add(at, 'end', `${this.#label} ends: ${event.end.why}`)
      case 'rolled-back':
        // A stage that a check ended was rolled back before this event.
        if (this.#endedAt === undefined) this.#add(at, 'rollback', rollbackText(event.restored))
        this.#rolledBack = event.restored
        return
      case 'note':
        return this.#add(at, 'note', event.text)
      default:
        event satisfies never
    }
  }

  #rolledBack = false

  /** Returns all facts in the order of their times. */
  facts({ phases, detectedAt, recoveredAt, rollbackMs, alerts }: MeasuredTimes): readonly Fact[] {
    const clockMs = Date.now() - performance.now()
    const facts: Timed[] = []
    const add = (at: number, kind: FactKind, text: string): void =>
      void facts.push({ at, kind, text })
    // The gate fails in the same check that ends the stage.
    if (detectedAt !== undefined) {
      const began = ({ startedAt }: PhaseResult): number => Date.parse(startedAt) - clockMs
      const label = phases.findLast((phase) => began(phase) <= detectedAt)?.label ?? ''
      add(detectedAt, 'detection', `first failure of a limit of the plan, in ${label}`)
    }
    facts.push(...this.#facts)
    if (this.#endedAt !== undefined && rollbackMs !== null) {
      add(this.#endedAt + rollbackMs, 'rollback', rollbackText(this.#rolledBack))
    }
    if (recoveredAt !== undefined) {
      add(recoveredAt, 'recovery', 'all limits of the steady state pass from here on')
    }
    const stage = phases.find((phase) => 'applied' in phase && phase.applied > 0)
    if (!this.#injected && stage !== undefined) {
      const text = `first injected fault, within the next ${duration(stage.durationMs)} (stage ${stage.label})`
      add(Date.parse(stage.startedAt) - clockMs, 'injection', text)
    }
    for (const { name, monitor, startsAt } of alerts) {
      if (startsAt === null) continue
      const text = `the alert ${name} starts, according to the clock of ${monitor}`
      add(Date.parse(startsAt) - clockMs, 'alert', text)
    }
    const error = firstRealError(phases)
    if (error !== undefined) add(error.at - clockMs, 'real_error', error.text)
    return facts
      .sort((a, b) => a.at - b.at)
      .map((fact) => ({ ...fact, at: new Date(fact.at + clockMs).toISOString() }))
  }

  #add(at: number, kind: FactKind, text: string): void {
    this.#facts.push({ at, kind, text })
  }
}

/** Returns the first interval with a real error: results count errors by interval. */
function firstRealError(phases: readonly PhaseResult[]) {
  for (const { label, load } of phases) {
    const point = load?.timeline.points.find(({ errors }) => errors.real > 0)
    if (load === undefined || point === undefined) continue
    const within = duration(load.timeline.intervalMs)
    const text = `first real error, within the next ${within} (${label})`
    return { at: Date.parse(load.run.startedAt) + point.at, text }
  }
  return undefined
}

function rollbackText(restored: boolean): string {
  return restored
    ? 'the rules are rolled back'
    : 'not rolled back: another program has changed the rules'
}
