import { LOAD_DEFAULTS, type LoadOptions, type LoadResilience } from '../load/load-options.ts'
import type { ErrorCount, LoadResult } from '../load/results/result.ts'
import { endingsOf } from '../report/endings.ts'
import { type RunningLoad, runLoad } from '../load/run-load.ts'
import { noCounts, type OriginCounts, originCounts } from './counts.ts'
import { DEMO_TOOLS } from './demo-tools.ts'
import type { Screen } from './screen.ts'
import type { Stage } from './stage.ts'

/** Calls of a task: what an agent asks at once. */
export const FAN_OUT = 8

const CLIENTS = 4
const SETTLE_MS = 1_000

/** Configures a load of the demo. */
export interface DemoLoad {
  readonly seed: number
  readonly durationMs: number
  readonly resilience?: Partial<LoadResilience>
  /** Goes on beside the load; resolves with the counts of its own calls. */
  readonly beside?: () => Promise<OriginCounts>
}

/** A load, and what else was counted while it ran. */
export interface Loaded {
  /** Without unattributed errors where the sidecar's counts attribute them. */
  readonly result: LoadResult
  /** The sidecar's counts of the same calls. */
  readonly counted: OriginCounts
  /** The same with the calls beside the load. */
  readonly countedAll: OriginCounts
}

/** Runs `squall load` against the sidecar, as its command does. */
export async function demoLoad(stage: Stage, screen: Screen, asked: DemoLoad): Promise<Loaded> {
  const before = await countsOf(stage)
  const startedAt = performance.now()
  let drawing: NodeJS.Timeout | undefined
  const begun = ({ recorder }: RunningLoad): void => {
    drawing = setInterval(() => {
      const share = (performance.now() - startedAt) / asked.durationMs
      screen.progress(share, recorder.counts.calls, 'calls')
    }, 60)
  }
  const [{ result }, beside] = await Promise.all([
    runLoad(optionsOf(stage, asked), { begun }),
    asked.beside?.() ?? noCounts(),
  ]).finally(() => clearInterval(drawing))
  screen.clearBar()
  const calls = beside.total().calls + result.counts.calls + result.counts.retries
  const countedAll = await settled(stage, before, calls)
  const counted = countedAll.since(beside)
  return { result: attributed(result, counted), counted, countedAll }
}

/**
 * Makes unattributed errors real ones where the sidecar counted as many: a broken connection
 * carries no marker, and only the sidecar knows that no fault broke it.
 */
function attributed(result: LoadResult, counted: OriginCounts): LoadResult {
  const { real, unattributed } = endingsOf(result)
  if (counted.total().real !== real + unattributed) return result
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

/** The options of a load against the sidecar. */
export function optionsOf(
  stage: Stage,
  { seed, durationMs, resilience = {} }: DemoLoad,
): LoadOptions {
  const url = new URL(`http://127.0.0.1:${stage.sidecar.port}/mcp`)
  return {
    ...LOAD_DEFAULTS,
    target: { url, client: 'lean', headers: {} },
    work: { ...LOAD_DEFAULTS.work, tools: DEMO_TOOLS.map(({ name }) => name), fanOut: FAN_OUT },
    pace: { ...LOAD_DEFAULTS.pace, clients: CLIENTS, durationMs },
    resilience: { ...LOAD_DEFAULTS.resilience, ...resilience },
    seed,
    version: stage.version,
  }
}

async function countsOf({ sidecar }: Stage): Promise<OriginCounts> {
  return originCounts(await sidecar.metrics())
}

/** A client can see the end of a call before the sidecar has counted it. */
async function settled(stage: Stage, before: OriginCounts, calls: number): Promise<OriginCounts> {
  const until = performance.now() + SETTLE_MS
  for (;;) {
    const isLast = performance.now() > until
    const counted = (await countsOf(stage)).since(before)
    if (counted.total().calls >= calls || isLast) return counted
  }
}
