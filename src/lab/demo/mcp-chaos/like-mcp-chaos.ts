import { open, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import type { EndedCall } from '../../load/call-runner.ts'
import type { LoadResult } from '../../load/results/result.ts'
import { endingsOf } from '../../report/endings.ts'
import { writeReport } from '../../report/write-report.ts'
import { type Loaded, demoLoad } from '../demo-load.ts'
import { short } from '../demo.ts'
import type { Check } from '../phase.ts'
import { Screen } from '../screen.ts'
import { type DemoProgram, Stage } from '../stage.ts'
import { type StopSignal, stopSignal } from '../stop-signal.ts'
import { callLine } from './call-line.ts'
import { type Row, figuresOf, showTable, simulatedFigures } from './figures.ts'
import { AGENTS, type Agent, CALLS_PER_TASK, type Simulated, simulate } from './simulation.ts'
import { exactRules, importedRules } from './wire-rules.ts'

export interface LikeMcpChaosOptions {
  /** Prints the results as JSON, and nothing else. */
  readonly json: boolean
  readonly seed: number
  readonly tasks: number
  /** The file for the calls, as lines of JSON. */
  readonly callLog: string | undefined
  readonly report: string | undefined
}

/** The ways to select the calls that fail. */
const SELECTIONS = [
  { key: 'sameCalls', name: 'wire: same calls' },
  { key: 'imported', name: 'wire: imported' },
] as const

type Selection = (typeof SELECTIONS)[number]

/** The calls of one agent through the sidecar. */
interface WireRun extends Loaded {
  readonly agent: Agent
  readonly selection: Selection
  readonly simulated: Simulated
  /** The calls that the server executed. */
  readonly executed: number
}

const LIMIT_MS = 30_000

/**
 * Runs the demo of mcp-chaos through a sidecar, beside its simulation; resolves to the exit code,
 * which is 1 when a check failed.
 */
export async function likeMcpChaos(
  options: LikeMcpChaosOptions,
  program: DemoProgram,
): Promise<number> {
  const { stdout } = process
  // A reader such as head closes the pipe early.
  stdout.on('error', () => {})
  const screen = new Screen(options.json ? undefined : stdout, process.env)
  const stop = new AbortController()
  let stoppedBy: StopSignal | undefined
  const onSignal = async (): Promise<void> => {
    stoppedBy = await stopSignal()
    stop.abort()
  }
  void onSignal()
  const startedAt = performance.now()
  const lines: string[] = []
  const callLog = options.callLog === undefined ? undefined : await open(options.callLog, 'w')
  const stage = await Stage.open(program)
  try {
    const runs = await runAll(stage, screen, { options, stop: stop.signal, lines })
    if (stoppedBy !== undefined) {
      screen.line(`   stopped by ${stoppedBy}`)
      return 128 + constants.signals[stoppedBy]
    }
    await callLog?.writeFile(lines.join(''))
    if (options.report !== undefined) await writeFile(options.report, reportOf(runs))
    const checks = [...runs.flatMap(checksOf), noOwnErrors(stage)]
    const seconds = (performance.now() - startedAt) / 1000
    show(screen, options, runs, checks, seconds)
    if (options.json) {
      const about = { version: stage.version, ok: checks.every(({ ok }) => ok), seconds }
      stdout.write(`${JSON.stringify({ ...about, ...resultOf(options, runs), checks }, short)}\n`)
    }
    const failed = checks.filter(({ ok }) => !ok)
    for (const { what } of failed) process.stderr.write(`squall: demo: not so: ${what}\n`)
    for (const text of stage.ownErrors) process.stderr.write(`squall: demo: ${text}\n`)
    return failed.length === 0 ? 0 : 1
  } finally {
    await stage.close()
    await callLog?.close()
  }
}

interface Running {
  readonly options: LikeMcpChaosOptions
  readonly stop: AbortSignal
  /** Grows by a line for each call. */
  readonly lines: string[]
}

async function runAll(stage: Stage, screen: Screen, running: Running): Promise<WireRun[]> {
  const { seed, tasks } = running.options
  screen.line(screen.paint('strong', `squall ${stage.version} demo --like mcp-chaos`))
  const runs: WireRun[] = []
  for (const agent of AGENTS) {
    const simulated = simulate(seed, tasks, agent)
    for (const selection of SELECTIONS) {
      if (running.stop.aborted) return runs
      const isSame = selection.key === 'sameCalls'
      // Replaces all rules of the run before, so that they count calls from 1 again.
      await stage.edit(isSame ? exactRules(simulated.failing) : importedRules(seed))
      const executed = stage.server.truth.total().calls
      const loaded = await runOne(stage, screen, running, agent, selection)
      const now = stage.server.truth.total().calls
      runs.push({ ...loaded, agent, selection, simulated, executed: now - executed })
    }
  }
  return runs
}

function runOne(
  stage: Stage,
  screen: Screen,
  { options: { seed, tasks, callLog }, stop, lines }: Running,
  { key, resilience }: Agent,
  selection: Selection,
): Promise<Loaded> {
  const callEnded = (call: EndedCall): void => {
    const run = { agent: key, selection: selection.key }
    lines.push(`${JSON.stringify(callLine(call, run))}\n`)
  }
  const hooks = { stop, cut: stop, ...(callLog !== undefined && { callEnded }) }
  const load = { seed, tasks, durationMs: LIMIT_MS, sequential: true, resilience, hooks }
  return demoLoad(stage, screen, load)
}

/** Compares what the agent saw with what Squall, the server and the simulation counted. */
function checksOf(run: WireRun): Check[] {
  const { agent, selection, result, counted, simulated, executed } = run
  const { counts } = result
  const which = `${agent.name}, ${selection.name}`
  const { faults, real, injected } = counted.total()
  const seen = result.faults.reduce((sum, fault) => sum + fault.seen, 0)
  const { failedCalls, failedTasks } = figuresOf(result)
  const marked = {
    what: `${which}: the agent saw the ${faults} errors that Squall injected, and no real one`,
    ok: seen === faults && injected === faults && real === 0 && onlyInjected(result),
  }
  const { calls, retries } = counts
  const reached = {
    what: `${which}: the server executed ${calls} calls and ${retries} retries`,
    ok: counts.tasks === simulated.tasks && executed === calls + retries,
  }
  if (selection.key === 'imported') return [marked, reached]
  const equal = {
    what: `${which}: as many calls and tasks failed as in the simulation`,
    ok:
      failedCalls === simulated.failedCalls &&
      failedTasks === simulated.failedTasks &&
      retries === simulated.retries,
  }
  return [marked, reached, equal]
}

function onlyInjected(result: LoadResult): boolean {
  const { ok, injected } = endingsOf(result)
  return ok + injected === result.counts.calls
}

function noOwnErrors({ ownErrors }: Stage): Check {
  return { what: 'Squall logged no error of its own', ok: ownErrors.length === 0 }
}

const NOTES = [
  'Simulation: mcp-chaos with this seed, recomputed here; it sends no call.',
  'Same calls: a rule for each call that fails there, so that counts are equal.',
  'Imported: the 2 % rule of squall import: another sample at the same rate.',
] as const

function show(
  screen: Screen,
  { seed, tasks, callLog, report }: LikeMcpChaosOptions,
  runs: readonly WireRun[],
  checks: readonly Check[],
  seconds: number,
): void {
  const work = `${tasks} tasks of ${CALLS_PER_TASK} calls in sequence`
  screen.line(`${work}, errors in 2 % of the calls, seed ${seed}.`)
  screen.line()
  showTable(screen, rowsOf(runs))
  screen.line()
  for (const note of NOTES) screen.line(screen.paint('quiet', ` ${note}`))
  screen.line()
  const passed = checks.filter(({ ok }) => ok).length
  screen.check(passed === checks.length, `${passed} of ${checks.length} checks passed`)
  if (callLog !== undefined) screen.line(`   calls     ${callLog}`)
  if (report !== undefined) screen.line(`   report    ${report}`)
  const text = `   Measured here, over real connections, in ${seconds.toFixed(1)} s.`
  screen.line(screen.paint('quiet', text))
}

/** Returns the rows of the table: for each agent the simulation, then its runs. */
function rowsOf(runs: readonly WireRun[]): Row[] {
  return AGENTS.flatMap((agent) => {
    const own = runs.filter((run) => run.agent === agent)
    const simulated = own.slice(0, 1).map((run) => ({
      agent: agent.name,
      name: 'simulation',
      figures: simulatedFigures(run.simulated),
    }))
    const measured = own.map(({ selection, result }) => ({
      agent: agent.name,
      name: selection.name,
      figures: figuresOf(result),
    }))
    return [...simulated, ...measured]
  })
}

function resultOf({ seed, tasks }: LikeMcpChaosOptions, runs: readonly WireRun[]): object {
  const agents = AGENTS.map((agent) => {
    const own = runs.filter((run) => run.agent === agent)
    const simulation = own.slice(0, 1).map((run) => simulatedFigures(run.simulated))[0]
    const wire = own.map((run) => [run.selection.key, figuresOf(run.result)] as const)
    return [agent.key, { simulation, ...Object.fromEntries(wire) }] as const
  })
  const plan = { like: 'mcp-chaos', seed, tasks, callsPerTask: CALLS_PER_TASK }
  return { ...plan, agents: Object.fromEntries(agents) }
}

function reportOf(runs: readonly WireRun[]): string {
  const titled = runs.map(({ agent, selection, result }) => ({
    title: `${agent.name}, ${selection.name}`,
    result,
  }))
  return writeReport(titled, { title: 'The demo of mcp-chaos on the wire', notes: NOTES })
}
