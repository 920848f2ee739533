import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fieldsOf, listOf, makeDirectory, oneLine, readVersion, sha256Of } from '#base'
import { UsageError } from '#cli'
import { redactMessage, redactText } from '#sidecar'
import { type Lock, takeLock } from '../experiment/lock.ts'
import { RejectedError } from '../experiment/rejection.ts'
import { newId } from '../experiment/run-id.ts'
import { type Tape, withTape } from '../tape/tape.ts'
import { type Cell, cellsOf, countCalls, ruleOf, type SweepCall, sweepCalls } from './cells.ts'
import { type Baseline, judge, type Run } from './judge.ts'
import { runTask, type SweepTask, type TapeTask } from './run-task.ts'
import { sweepHtml } from './sweep-report.ts'
import {
  type CellResult,
  type CellRun,
  goodShare,
  readSweep,
  type ShownCall,
  storeSweep,
  SWEEP_SCHEMA,
  type SweepResult,
  type SweepSettings,
  worstOf,
} from './sweep-result.ts'

const BASELINE_RUNS = 3
const MIN_RUNAWAY = 20
const RUNAWAY_FACTOR = 5
const MAX_ARGS = 80

/**
 * Runs the task with each fault at each of its calls. Stores what is known after each cell, and a
 * page at the end.
 */
export function sweep(
  request: SweepTask,
  stop: AbortSignal,
  onProgress: (done: number, all: number) => void,
): Promise<SweepResult> {
  const { results: directory, resume } = request
  return withTape(request.tape, async (tape) => {
    const settings = await settingsOf(request)
    // The lock creates the directory. What is read then may be newer.
    if (resume) await earlierSweep(directory, settings)
    const lock = await lockOf(directory)
    try {
      const earlier = resume ? await earlierSweep(directory, settings) : undefined
      const result = await sweepCells({ request, tape, stop }, settings, earlier, onProgress)
      await writeFile(join(directory, 'report.html'), sweepHtml(result), { mode: 0o600 })
      return result
    } finally {
      await lock.release()
    }
  })
}

/** What is locked in each directory of results, which may have several paths. */
const ANY_SWEEP = new URL('file:///sweep')

/** Locks a directory of results: the rules of another sweep would replace those of this one. */
async function lockOf(directory: string): Promise<Lock> {
  try {
    return await takeLock(directory, ANY_SWEEP, newId(new Date()))
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error
    const wrong = `another sweep stores its results in ${directory}`
    const fix = 'wait until it has ended, or store these in another directory'
    throw new UsageError('INVALID_VALUE', wrong, fix)
  }
}

async function settingsOf(request: SweepTask): Promise<SweepSettings> {
  const { tape, command, check, match, faults, repeat, cellTimeout } = request
  return {
    tape,
    digest: sha256Of(await readFile(tape)),
    command: command.map(redactText),
    check: check === undefined ? null : redactText(check),
    match,
    faults,
    repeat,
    cellTimeoutMs: cellTimeout,
  }
}

/** Reads the results of the same sweep. Throws a `UsageError`. */
async function earlierSweep(directory: string, settings: SweepSettings): Promise<SweepResult> {
  const earlier = await readSweep(directory)
  const fail = (wrong: string, fix: string) => new UsageError('INVALID_VALUE', wrong, fix)
  if (earlier === undefined) throw fail(`${directory} has no results of a sweep`, 'remove --resume')
  const { tape } = settings
  if (JSON.stringify(settings) === JSON.stringify({ ...earlier.settings, tape })) return earlier
  throw fail(
    `the results in ${directory} belong to another tape, command or set of flags`,
    'name another directory with --results',
  )
}

/** Runs the cells that have no result yet, several at a time. */
async function sweepCells(
  task: TapeTask,
  settings: SweepSettings,
  earlier: SweepResult | undefined,
  onProgress: (done: number, all: number) => void,
): Promise<SweepResult> {
  const { results: directory, budget, parallel = availableParallelism() } = task.request
  const startedAt = earlier?.startedAt ?? new Date().toISOString()
  const until = performance.now() + budget
  const baseline = await runBaseline(task)
  const [calls, unstable] = [baseline.calls.map(shownCall), baseline.unstable.map(shownCall)]
  if (earlier !== undefined && JSON.stringify(earlier.calls) !== JSON.stringify(calls)) {
    throw new Error(
      `the calls of the task differ from the calls in ${directory}; name another directory with --results`,
    )
  }
  const cells = chosenCells(task.request, baseline.calls)
  const known = new Map(earlier?.cells.map((cell) => [cell.id, cell]))
  const waiting = cells.filter(({ id }) => !known.has(id))
  const resultNow = (): SweepResult => {
    const done = cells.flatMap(({ id }) => known.get(id) ?? [])
    const about = { schema: SWEEP_SCHEMA, squall: readVersion(), startedAt, settings } as const
    return { ...about, calls, unstable, cells: done, left: cells.length - done.length }
  }
  await makeDirectory(join(directory, 'cells'), 0o700)
  // One after the other: each has what the one before had.
  let stored: Promise<unknown> = Promise.resolve()
  const store = (): Promise<unknown> =>
    (stored = stored.then(() => storeSweep(directory, resultNow())))
  await store()
  const work = async (): Promise<void> => {
    while (!task.stop.aborted && performance.now() < until) {
      const cell = waiting.shift()
      const result = cell && (await runCell(task, cell, baseline))
      if (result === undefined) return
      known.set(result.id, result)
      onProgress(known.size, cells.length)
      // Results that cannot be stored end the sweep.
      await store()
    }
  }
  onProgress(known.size, cells.length)
  await Promise.all(Array.from({ length: parallel }, work))
  return resultNow()
}

/** Runs the task without a fault, and compares the runs. Throws when one fails. */
async function runBaseline(task: TapeTask): Promise<Baseline> {
  const runs: Run[] = []
  while (runs.length < BASELINE_RUNS) {
    const run = await runTask(task, 'none')
    task.stop.throwIfAborted()
    failedRun(run)
    runs.push(run)
  }
  const counts = runs.map(({ served }) => countCalls(served))
  const timesOf = (key: string): readonly number[] => counts.map((each) => each.get(key) ?? 0)
  // In the order of the tape: that of parallel calls differs from run to run.
  const served = runs[0]!.served.toSorted(
    (a, b) => (a.recorded?.line ?? Infinity) - (b.recorded?.line ?? Infinity),
  )
  const all = sweepCalls(
    served.map(({ key, method, name: tool, params }) => {
      const shown = redactMessage({ method, params }, task.tape.redaction)
      return { key, tool, args: fieldsOf(fieldsOf(shown['params'])['arguments']) }
    }),
  )
  const isStable = ({ key, occurrence }: SweepCall): boolean =>
    occurrence < Math.min(...timesOf(key))
  const [output, ...others] = new Set(runs.map((run) => run.output))
  return {
    calls: all.filter(isStable),
    unstable: all.filter((call) => !isStable(call)),
    output: others.length === 0 ? output : undefined,
    executed: new Map(served.map(({ key }) => [key, Math.max(...timesOf(key))])),
    safe: await safeTools(task.tape),
    mostCalls: Math.max(MIN_RUNAWAY, all.length * RUNAWAY_FACTOR),
  }
}

/** Returns the tools that declare to be read-only or idempotent. */
async function safeTools(tape: Tape): Promise<ReadonlySet<string>> {
  const safe = new Set<string>()
  for (const { responses } of tape.calls.filter(({ method }) => method === 'tools/list')) {
    for (const response of responses) {
      const { result } = (await tape.read(response)) ?? {}
      for (const { name, annotations } of listOf(fieldsOf(result)['tools'])) {
        const { readOnlyHint, idempotentHint } = fieldsOf(annotations)
        if (readOnlyHint === true || idempotentHint === true) safe.add(String(name))
      }
    }
  }
  return safe
}

/** Throws where a run without a fault did not succeed: nothing can be learned from the others. */
function failedRun({ isTimedOut, exitCode, isAccepted, served, lines }: Run): void {
  const last = lines.length === 0 ? '' : `\n  ${lines.join('\n  ')}`
  const fail = (wrong: string, fix: string): never => {
    throw new Error(`without a fault, ${wrong}; ${fix}${last}`)
  }
  if (isTimedOut) fail('the command timed out', 'raise --cell-timeout')
  if (exitCode !== 0) {
    fail(
      `the command failed (exit code: ${exitCode ?? 'none, killed by a signal'})`,
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
  { cell: only, faults }: SweepTask,
  calls: readonly SweepCall[],
): readonly Cell[] {
  const cells = cellsOf(calls, faults)
  const strange = only.find((id) => !cells.some((cell) => cell.id === id))
  if (strange === undefined) return cells.filter(({ id }) => only.length === 0 || only.includes(id))
  const form = `write the number of a call and a fault, such as 1-${faults[0]}`
  throw new UsageError('INVALID_VALUE', `unknown cell ${oneLine(strange, 40)}`, form)
}

/** Runs a cell as often as asked for; undefined when it was interrupted. */
async function runCell(
  task: TapeTask,
  cell: Cell,
  baseline: Baseline,
): Promise<CellResult | undefined> {
  const { results, repeat, match } = task.request
  const rules = { seed: 1, rules: [ruleOf(cell, baseline.calls, match)] }
  const file = join(results, 'cells', `${cell.id}.yaml`)
  // JSON is YAML.
  await writeFile(file, `${JSON.stringify(rules, null, 2)}\n`, { mode: 0o600 })
  const runs: CellRun[] = []
  while (runs.length < repeat) {
    const run = await runTask(task, cell.id, file, baseline.mostCalls)
    if (task.stop.aborted) return undefined
    const { exitCode, seconds, calls, served, falseUsed, lines } = run
    const offTape = served.filter(({ recorded }) => recorded === undefined).length
    const verdict = judge(run, baseline)
    runs.push({ verdict, exitCode, seconds, calls, offTape, falseUsed, lines })
  }
  const { id, call, fault } = cell
  return { id, call: call.number, fault, verdict: worstOf(runs), ...goodShare(runs), runs }
}

function shownCall({ number, tool, args, occurrence }: SweepCall): ShownCall {
  return { number, tool, args: oneLine(JSON.stringify(args), MAX_ARGS), occurrence }
}
