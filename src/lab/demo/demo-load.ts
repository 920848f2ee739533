import { LOAD_DEFAULTS, type LoadOptions, type LoadResilience } from '../load/load-options.ts'
import type { LoadResult } from '../load/results/result.ts'
import { type RunningLoad, runLoad } from '../load/run-load.ts'
import { type OriginCounts, originCounts } from './counts.ts'
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
  /** Goes on beside the load; resolves with how many calls it made itself. */
  readonly beside?: () => Promise<number>
}

/** A load, and what else was counted while it ran. */
export interface Loaded {
  readonly result: LoadResult
  /** The sidecar's counts of the same calls. */
  readonly counted: OriginCounts
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
  const [{ result }, further] = await Promise.all([
    runLoad(optionsOf(stage, asked), { begun }),
    asked.beside?.() ?? 0,
  ]).finally(() => clearInterval(drawing))
  screen.clearBar()
  return {
    result,
    counted: await settled(stage, before, further + result.counts.calls + result.counts.retries),
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
    const counted = (await countsOf(stage)).since(before)
    if (counted.total().calls >= calls || performance.now() > until) return counted
  }
}
