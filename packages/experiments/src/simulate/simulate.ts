import { setImmediate as nextLoop } from 'node:timers/promises'
import { seededRandom } from '#base'
import { compileRules, type RuleFileSpec } from '#rules'
import type { Plan } from '../experiment/plan.ts'
import { rejectionError, RejectedError } from '../experiment/rejection.ts'
import type { IndicatorCounts } from '../indicators/indicators.ts'
import { Histogram } from '../load/results/histogram.ts'
import { arrivalCount } from '../load/load-models.ts'
import { type Predicted, predict, type RoundValue } from './interval.ts'
import type { MeasuredTool, Measurement } from './measured.ts'
import { LEFT_OUT, notModelled, stageRules } from './modelled.ts'
import { PodRun } from './pod-run.ts'
import { cumulated, drawTool } from './tool-model.ts'

export const SIMULATION_SCHEMA = 'squall.simulation/1'

/** The predicted quantities of a stage. Latencies are of tasks, in milliseconds. */
export type Quantity = keyof ReturnType<typeof quantitiesOf>

export interface SimulatedStage {
  readonly label: string
  readonly share: number
  readonly predicted: Readonly<Record<Quantity, Predicted | null>>
}

export interface Simulation {
  readonly schema: typeof SIMULATION_SCHEMA
  readonly plan: string
  readonly seed: number
  readonly pods: number
  readonly rounds: number
  /** The pods of a round: a sample of a large fleet. */
  readonly podsPerRound: number
  readonly simulatedTasks: number
  readonly sources: readonly Pick<Measurement, 'source' | 'startedAt' | 'calls' | 'retries'>[]
  readonly stages: readonly SimulatedStage[]
  readonly leftOut: readonly string[]
}

export interface SimulateOptions {
  readonly plan: Plan
  /** The measured behaviour of the tools; each round takes one. */
  readonly measurements: readonly Measurement[]
  readonly pods: number
  /** The tasks of the fleet in each stage; undefined for those of `hold`. */
  readonly tasks: number | undefined
  readonly seed: number
  /** Bounds the simulated calls, as far as 39 rounds of two pods allow. */
  readonly maxCalls?: number
  readonly stop: AbortSignal
  /** Called with the share of the rounds that are done. */
  readonly onProgress: (share: number) => void
}

const MANY_CALLS = 2_000_000
const MOST_CALLS_PER_POD = 200_000
/** The numbers of rounds for which `predict` has ranks. */
const ROUNDS = [199, 39] as const
const NO_FAULTS: RuleFileSpec = { rules: [] }

/**
 * Predicts the effect of a plan on a fleet, of which each pod gets the load of the plan; undefined
 * when it was stopped. Throws a `RejectedError`.
 */
export async function simulate(options: SimulateOptions): Promise<Simulation | undefined> {
  const { plan, measurements, pods, seed, stop, onProgress } = options
  const problems = notModelled(plan)
  if (problems.length > 0) throw new RejectedError(...problems)
  const specs = [NO_FAULTS, ...plan.stages.map((stage) => stageRules(plan, stage))]
  const { rounds, podsPerRound } = sizeOf(options, specs.length)
  const values = plan.stages.map(() => [] as StageValues[])
  let simulatedTasks = 0
  for (let round = 0; round < rounds; round++) {
    const random = seededRandom(seed, `round/${round}`)
    const measured = measurements[round % measurements.length]!
    // Another seed samples other calls.
    const rulesSeed = Math.floor(random() * 2 ** 32)
    const runs = specs.map(() => [] as PodCounts[])
    const models = [...measured.tools].map(([tool, each]) => drawTool(tool, each, random))
    for (let i = 0; i < podsPerRound; i++) {
      const pod = Math.floor(((i + random()) * pods) / podsPerRound)
      for (const [stage, spec] of specs.entries()) {
        const run = new PodRun({
          rules: compileRules({ ...spec, seed: rulesSeed }, { pod: `pod-${round}-${pod}` }),
          tools: models,
          weights: weightsOf(
            plan,
            models.map(({ tool }) => tool),
          ),
          load: plan.file.load,
          ...boundsOf(options, pod),
          // The stages begin with the same tasks, so that their differences have less noise.
          random: seededRandom(seed, `round/${round}/pod/${pod}`),
          stop,
        })
        await run.run()
        const { injected, latency } = run
        const { counts } = run.recorder
        simulatedTasks += counts.tasks
        runs[stage]!.push({ counts, injected, latency })
        await nextLoop()
        if (stop.aborted) return undefined
      }
    }
    const [before = [], ...stages] = runs
    for (const [i, stage] of stages.entries()) values[i]!.push(stageValues(stage, before, pods))
    onProgress((round + 1) / rounds)
  }
  return {
    schema: SIMULATION_SCHEMA,
    plan: plan.file.name,
    seed,
    pods,
    rounds,
    podsPerRound,
    simulatedTasks,
    sources: measurements.map(({ source, startedAt, calls, retries }) => {
      return { source, startedAt, calls, retries }
    }),
    stages: plan.stages.map(({ label, share = 0 }, i) => ({
      label,
      share,
      predicted: predictedOf(values[i]!, pods),
    })),
    leftOut: LEFT_OUT,
  }
}

/** The results of a pod that are kept. */
interface PodCounts extends Pick<PodRun, 'injected' | 'latency'> {
  readonly counts: IndicatorCounts
}

type StageValues = Readonly<Record<Quantity, RoundValue>>

function predictedOf(
  values: readonly StageValues[],
  pods: number,
): Readonly<Record<Quantity, Predicted | null>> {
  const predicted = namesOf(values[0]!).map((name) => {
    const rounds = values.map((each) => each[name])
    return [name, predict(rounds, pods)]
  })
  return Object.fromEntries(predicted) as Record<Quantity, Predicted | null>
}

/** Returns the weights of the tools, as the load chooses among them. */
function weightsOf({ file, calls }: Plan, tools: readonly string[]): Float64Array {
  const named = file.load.tools ?? []
  const all = named.length + calls.length === 0 ? tools : named
  const specs = [...all.map((tool) => ({ tool, weight: 1 })), ...calls]
  return cumulated(
    tools.map((name) =>
      specs.reduce((sum, { tool, weight }) => sum + (tool === name ? weight : 0), 0),
    ),
  )
}

/** Returns the tasks and the time of a stage on one pod. */
function boundsOf(
  { plan, pods, tasks }: SimulateOptions,
  pod: number,
): { readonly tasks: number; readonly durationMs: number } {
  if (tasks === undefined) return { tasks: Infinity, durationMs: plan.file.hold }
  const part = Math.floor(((pod + 1) * tasks) / pods) - Math.floor((pod * tasks) / pods)
  return { tasks: part, durationMs: Infinity }
}

/** Chooses the rounds, and the pods of each: at least two, whose difference shows their variance. */
function sizeOf(
  options: SimulateOptions,
  stages: number,
): { readonly rounds: number; readonly podsPerRound: number } {
  const { pods, plan, maxCalls = MANY_CALLS } = options
  const callsPerPod = Math.ceil(tasksPerPod(options)) * plan.file.load.fanOut
  if (callsPerPod > MOST_CALLS_PER_POD) {
    throw rejectionError(
      'NOT_MODELLED',
      `a pod would make ${Math.round(callsPerPod)} calls in each stage, and at most ${MOST_CALLS_PER_POD} are simulated`,
      options.tasks === undefined
        ? 'limit the stages with --fleet-tasks'
        : 'lower --fleet-tasks, or raise --pods',
    )
  }
  const perPod = callsPerPod * stages
  const fewest = Math.min(2, pods)
  const rounds = ROUNDS.find((each) => each * fewest * perPod <= maxCalls) ?? ROUNDS[1]
  const affordable = Math.floor(maxCalls / (rounds * perPod))
  return { rounds, podsPerRound: Math.min(pods, Math.max(fewest, affordable)) }
}

function tasksPerPod({ plan, pods, tasks, measurements }: SimulateOptions): number {
  const { load, hold } = plan.file
  if (tasks !== undefined) return tasks / pods
  if (load.rate !== undefined) {
    const tasksPerSecond = load.rate / load.fanOut
    return arrivalCount({ tasksPerSecond, rampMs: 0, durationMs: hold, tasks: undefined })
  }
  const fastest = Math.min(...measurements.flatMap(({ tools }) => [...tools.values()].map(meanMs)))
  return (load.clients * hold) / Math.max(0.001, fastest)
}

function meanMs({ latencies }: MeasuredTool): number {
  const count = latencies.reduce((sum, [, many]) => sum + many, 0)
  return latencies.reduce((sum, [ms, many]) => sum + ms * many, 0) / count
}

/** Returns the values of a stage in one round. */
function stageValues(
  stage: readonly PodCounts[],
  before: readonly PodCounts[],
  fleet: number,
): StageValues {
  const all = quantitiesOf(stage, before)
  const each = stage.map((run, i) => quantitiesOf([run], [before[i]!]))
  const scaled = (name: Quantity, value: number | null, pods: number): number | null =>
    value === null || !COUNTS.has(name) ? value : (value * fleet) / pods
  const values = namesOf(all).map((name) => {
    const whole = scaled(name, all[name], stage.length)
    return [name, { whole, pods: each.map((one) => scaled(name, one[name], 1)) }]
  })
  return Object.fromEntries(values) as Record<Quantity, RoundValue>
}

function namesOf(values: Readonly<Record<Quantity, unknown>>): readonly Quantity[] {
  return Object.keys(values) as readonly Quantity[]
}

const COUNTS: ReadonlySet<Quantity> = new Set(['tasks', 'calls', 'injected', 'retries'])

function quantitiesOf(runs: readonly PodCounts[], before: readonly PodCounts[]) {
  const sum = (of: (run: PodCounts) => number): number =>
    runs.reduce((total, run) => total + of(run), 0)
  const tasks = sum(({ counts }) => counts.tasks)
  const share = (part: number): number | null => (tasks === 0 ? null : part / tasks)
  const failed = sum(({ counts }) => counts.failedTasks)
  const latency = merged(runs)
  const usual = merged(before)
  const [p50, p99] = [latency.quantile(0.5), latency.quantile(0.99)]
  return {
    tasks,
    calls: sum(({ counts }) => counts.calls),
    injected: sum(({ injected }) => injected),
    touched: share(sum(({ counts }) => counts.hitTasks)),
    failed: share(failed),
    success: share(tasks - failed),
    retries: sum(({ counts }) => counts.retries),
    p50,
    p99,
    addedP50: difference(p50, usual.quantile(0.5)),
    addedP99: difference(p99, usual.quantile(0.99)),
  }
}

function difference(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : one - other
}

function merged(runs: readonly PodCounts[]): Histogram {
  if (runs.length === 1) return runs[0]!.latency
  const sum = new Histogram()
  for (const { latency } of runs) sum.addAll(latency.data())
  return sum
}
