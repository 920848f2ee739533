import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { makeDirectory, oneLine, readVersion } from '#base'
import { UsageError } from '#cli'
import type { SweepRequest } from '../commands/sweep.ts'
import { type Cell, cellsOf, countCalls, ruleOf, type SweepCall, sweepCalls } from './cells.ts'
import { type Baseline, judge, type Run } from './judge.ts'
import { runTask, type SweepTask } from './run-task.ts'
import {
  type CellResult,
  type CellRun,
  goodShare,
  type ShownCall,
  storeSweep,
  SWEEP_SCHEMA,
  type SweepResult,
  type SweepSettings,
  worstOf,
} from './sweep-result.ts'

type Asked = Pick<SweepRequest, 'results' | 'cell' | 'parallel' | 'budget'>

export interface SweepOptions extends SweepTask, Asked {
  /** The settings to store: secrets are replaced in its command. */
  readonly settings: SweepSettings
  readonly earlier: SweepResult | undefined
  readonly onProgress: (done: number, all: number) => void
}

/** The calls of the task, and how it ends without a fault. */
interface Healthy extends Baseline {
  readonly calls: readonly SweepCall[]
  /** Calls that do not occur in all runs. */
  readonly unstable: readonly SweepCall[]
  /** The number of calls above which a run is a runaway. */
  readonly mostCalls: number
}

const BASELINE_RUNS = 3
const MIN_RUNAWAY = 20
const RUNAWAY_FACTOR = 5
const MAX_ARGS = 80

/** Runs the task with each fault at each of its calls, and stores what is known after each cell. */
export async function sweep(options: SweepOptions): Promise<SweepResult> {
  const { settings, results: directory, earlier, budget, stop, onProgress } = options
  const { parallel = availableParallelism() } = options
  const startedAt = earlier?.startedAt ?? new Date().toISOString()
  const until = performance.now() + budget
  const healthy = await runHealthy(options)
  const calls = healthy.calls.map(shownCall)
  if (earlier !== undefined && JSON.stringify(earlier.calls) !== JSON.stringify(calls)) {
    throw new Error(
      `the calls of the task differ from the calls in ${directory}; name another directory with --results`,
    )
  }
  const cells = chosenCells(cellsOf(healthy.calls, settings.faults), options)
  const known = new Map(earlier?.cells.map((cell) => [cell.id, cell]))
  const waiting = cells.filter(({ id }) => !known.has(id))
  const resultNow = (): SweepResult => {
    const done = cells.flatMap(({ id }) => known.get(id) ?? [])
    return {
      schema: SWEEP_SCHEMA,
      squall: readVersion(),
      startedAt,
      settings,
      calls,
      unstable: healthy.unstable.map(shownCall),
      cells: done,
      left: cells.length - done.length,
    }
  }
  await makeDirectory(join(directory, 'cells'), 0o700)
  // One after the other: each has what the one before had.
  let stored = storeSweep(directory, resultNow())
  const work = async (): Promise<void> => {
    while (!stop.aborted && performance.now() < until) {
      const cell = waiting.shift()
      const result = cell && (await runCell(options, cell, healthy))
      if (result === undefined) return
      known.set(result.id, result)
      onProgress(known.size, cells.length)
      stored = stored.then(() => storeSweep(directory, resultNow()))
    }
  }
  onProgress(known.size, cells.length)
  await Promise.all(Array.from({ length: parallel }, work))
  await stored
  return resultNow()
}

/** Runs the task without a fault, and compares the runs. Throws when one fails. */
async function runHealthy(options: SweepOptions): Promise<Healthy> {
  const runs: Run[] = []
  while (runs.length < BASELINE_RUNS) {
    const run = await runTask(options, { id: 'none' })
    options.stop.throwIfAborted()
    failedRun(run)
    runs.push(run)
  }
  const [first] = runs
  const counts = runs.map(({ served }) => countCalls(served.map(({ key }) => key)))
  const timesOf = (key: string): readonly number[] => counts.map((each) => each.get(key) ?? 0)
  // In the order of the tape: that of parallel calls differs from run to run.
  const served = first!.served.toSorted((a, b) => (a.line ?? Infinity) - (b.line ?? Infinity))
  const all = sweepCalls(served)
  const isStable = (call: SweepCall, index: number): boolean =>
    call.occurrence < Math.min(...timesOf(served[index]!.key))
  const outputs = new Set(runs.map(({ end }) => end.output))
  return {
    calls: all.filter(isStable),
    unstable: all.filter((call, index) => !isStable(call, index)),
    output: outputs.size === 1 ? first!.end.output : undefined,
    executed: new Map(served.map(({ key }) => [key, Math.max(...timesOf(key))])),
    isSafe: (tool) => options.tape.isSafe(tool),
    mostCalls: Math.max(MIN_RUNAWAY, all.length * RUNAWAY_FACTOR),
  }
}

/** Throws where a run without a fault did not succeed: nothing can be learned from the others. */
function failedRun({ end, isAccepted, served }: Run): void {
  const last = end.lines.length === 0 ? '' : `\n  ${end.lines.join('\n  ')}`
  const fail = (wrong: string, fix: string): never => {
    throw new Error(`without a fault, ${wrong}; ${fix}${last}`)
  }
  if (end.isTimedOut) fail('the command timed out', 'raise --cell-timeout')
  if (end.exitCode !== 0) {
    fail(
      `the command failed (exit code: ${end.exitCode ?? 'none, killed by a signal'})`,
      'run it alone against the tape',
    )
  }
  if (isAccepted === false)
    fail('--check did not accept the result', 'change --check, or record the task again')
  if (served.length === 0) {
    fail(
      'the command called no tools',
      'make it connect to the URL in MCP_URL, or pass {url} among its arguments',
    )
  }
}

function chosenCells(
  cells: readonly Cell[],
  { cell: only, settings }: SweepOptions,
): readonly Cell[] {
  const strange = only.find((id) => !cells.some((cell) => cell.id === id))
  if (strange === undefined) return cells.filter(({ id }) => only.length === 0 || only.includes(id))
  const form = `write the number of a call and a fault, such as 1-${settings.faults[0]}`
  throw new UsageError('INVALID_VALUE', `unknown cell ${oneLine(strange, 40)}`, form)
}

/** Runs a cell as often as asked for; undefined when it was interrupted. */
async function runCell(
  options: SweepOptions,
  cell: Cell,
  healthy: Healthy,
): Promise<CellResult | undefined> {
  const { settings, results, stop } = options
  const rules = { seed: 1, rules: [ruleOf(cell, healthy.calls, settings.match)] }
  const file = join(results, 'cells', `${cell.id}.yaml`)
  // JSON is YAML.
  await writeFile(file, `${JSON.stringify(rules, null, 2)}\n`, { mode: 0o600 })
  const runs: CellRun[] = []
  while (runs.length < settings.repeat) {
    const { mostCalls } = healthy
    const run = await runTask(options, { id: cell.id, rules: file, mostCalls })
    if (stop.aborted) return undefined
    const { end, seconds, calls, served, falseUsed } = run
    runs.push({
      verdict: judge(run, healthy),
      exitCode: end.exitCode ?? null,
      seconds: Math.round(seconds * 1000) / 1000,
      calls,
      offTape: served.filter(({ line }) => line === undefined).length,
      falseUsed,
      lines: end.lines,
    })
  }
  const { id, call, fault } = cell
  return { id, call: call.number, fault, verdict: worstOf(runs), ...goodShare(runs), runs }
}

function shownCall({ number, tool, args, occurrence }: SweepCall): ShownCall {
  return { number, tool, args: oneLine(JSON.stringify(args), MAX_ARGS), occurrence }
}
