import { setImmediate as nextTurn } from 'node:timers/promises'
import { integerText } from '#base'
import { LOAD_DEFAULTS, type LoadOptions, type LoadResilience } from '../load/load-options.ts'
import type { ErrorCount, LoadResult } from '../load/results/result.ts'
import { endingsOf } from '../report/endings.ts'
import { type RunningLoad, runLoad } from '../load/run-load.ts'
import { DEMO_TOOLS } from './demo-tools.ts'
import type { DemoScreen } from './screen.ts'
import type { Stage } from './stage.ts'

/** Calls of a task: what an agent asks at once. */
export const FAN_OUT = 8

const CLIENTS = 4
const SETTLE_MS = 1_000

/** The calls that a sidecar counted, and their errors by origin. */
export type Counts = Readonly<Record<'calls' | 'injected' | 'real', number>>

/** Configures a load of the demo. */
export interface DemoLoad {
  readonly seed: number
  readonly durationMs: number
  readonly resilience?: Partial<LoadResilience>
  /** Goes on beside the load; resolves with the number of its own calls, by origin of errors. */
  readonly beside?: () => Promise<Counts>
}

/** A load, and what the sidecar counted while it ran. */
export interface Loaded {
  /** Without unattributed errors where the sidecar's counts attribute them. */
  readonly result: LoadResult
  /** The sidecar's counts of the load and of the calls beside it. */
  readonly squall: Counts
  /** The sidecar's counts of the load alone. */
  readonly counted: Counts
}

const NOTHING: Counts = { calls: 0, injected: 0, real: 0 }

/** Runs `squall load` against the sidecar, as its command does. */
export async function demoLoad(stage: Stage, screen: DemoScreen, asked: DemoLoad): Promise<Loaded> {
  const before = countsOf(stage)
  const startedAt = performance.now()
  let drawing: NodeJS.Timeout | undefined
  const begun = ({ recorder }: RunningLoad): void => {
    drawing = setInterval(() => {
      const share = (performance.now() - startedAt) / asked.durationMs
      screen.progress(share, `${integerText(recorder.counts.calls)} calls`)
    }, 60)
  }
  const [{ result }, beside] = await Promise.all([
    runLoad(optionsOf(stage, asked), { begun }),
    asked.beside?.() ?? NOTHING,
  ]).finally(() => clearInterval(drawing))
  screen.clearBar()
  const calls = beside.calls + result.counts.calls + result.counts.retries
  const squall = await settled(stage, before, calls)
  const counted = difference(squall, beside)
  return { result: attributed(result, counted), squall, counted }
}

/**
 * Makes unattributed errors real ones where the sidecar counted as many: a broken connection
 * carries no marker, and only the sidecar knows that no fault broke it.
 */
function attributed(result: LoadResult, counted: Counts): LoadResult {
  const { real, unattributed } = endingsOf(result)
  if (counted.real !== real + unattributed) return result
  const known = (errors: readonly ErrorCount[]): readonly ErrorCount[] =>
    errors.map((error) => (error.origin === 'unattributed' ? { ...error, origin: 'real' } : error))
  const points = result.timeline.points.map(({ errors, ...point }) => ({
    ...point,
    errors: { ...errors, real: errors.real + errors.unattributed, unattributed: 0 },
  }))
  return {
    ...result,
    errors: known(result.errors),
    tools: result.tools.map((tool) => ({ ...tool, errors: known(tool.errors) })),
    timeline: { ...result.timeline, points },
  }
}

/** Returns the options of a load against the sidecar. */
export function optionsOf(
  stage: Stage,
  { seed, durationMs, resilience = {} }: DemoLoad,
): LoadOptions {
  return {
    ...LOAD_DEFAULTS,
    target: stage.target,
    work: { ...LOAD_DEFAULTS.work, tools: DEMO_TOOLS.map(({ name }) => name), fanOut: FAN_OUT },
    pace: { ...LOAD_DEFAULTS.pace, clients: CLIENTS, durationMs },
    resilience: { ...LOAD_DEFAULTS.resilience, ...resilience },
    seed,
    version: stage.version,
  }
}

/** Returns the sidecar's counts of calls of tools. */
function countsOf({ sidecar }: Stage): Counts {
  const sum = (counts: object): number =>
    Object.values(counts).reduce((all, count) => all + count, 0)
  const tools = sidecar.metrics.tools().filter(({ tool }) => tool !== '')
  const calls = sum(tools.map((tool) => sum(tool.calls)))
  const injected = sum(tools.map(({ errors }) => errors.injected))
  return { calls, injected, real: sum(tools.map(({ errors }) => errors.real)) }
}

function difference(one: Counts, other: Counts): Counts {
  return {
    calls: one.calls - other.calls,
    injected: one.injected - other.injected,
    real: one.real - other.real,
  }
}

/** A client can see the end of a call before the sidecar has counted it. */
async function settled(stage: Stage, before: Counts, calls: number): Promise<Counts> {
  const until = performance.now() + SETTLE_MS
  for (;;) {
    const isLast = performance.now() > until
    const counted = difference(countsOf(stage), before)
    if (counted.calls >= calls || isLast) return counted
    await nextTurn()
  }
}
