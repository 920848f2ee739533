import { setImmediate as nextLoop } from 'node:timers/promises'
import { seededRandom, type RandomSource } from '#base'
import { callPlanner, finishPlan, type Plan as CallPlan } from '#rules'
import { type Plan, resilienceOf } from '../experiment/plan.ts'
import { rejectionError, RejectedError } from '../experiment/rejection.ts'
import type { IndicatorCounts } from '../indicators/indicators.ts'
import { Histogram } from '../load/results/histogram.ts'
import { arrivalCount, type RunTask, taskRunner } from '../load/load-models.ts'
import { type Predicted, predict, type RoundValue } from './interval.ts'
import { type MeasuredTool, type Measurement, WRONG } from './measured.ts'
import { LEFT_OUT, notModelled, stageRules } from './modelled.ts'
import { cumulated, drawTool, chosen, type ToolModel } from './tool-model.ts'
import type { PlanFile } from '../experiment/plan-schema.ts'
import { type CallFacts, toolCall } from '../experiment/tool-call.ts'
import type { PlannedCall } from '../load/call-plan.ts'
import type { CallResponse, LoadClient } from '../load/clients/load-client.ts'
import { LOAD_DEFAULTS } from '../load/load-options.ts'
import { Recorder } from '../load/results/recorder.ts'
import { runModel } from '../load/run-load.ts'
import { askFault, type Hook, injectedResponse } from './ask-fault.ts'
import { VirtualTime } from './virtual-time.ts'

export const SIMULATION_SCHEMA = 'squall.simulation/1'

type RuleFile = Parameters<typeof callPlanner>[0]

/** The predicted quantities of a stage. Latencies are of tasks, in milliseconds. */
export type Quantity = keyof ReturnType<typeof quantitiesOf>

export type Simulation = NonNullable<Awaited<ReturnType<typeof simulate>>>

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
const NO_FAULTS: RuleFile = { rules: [] }

/**
 * Predicts the effect of a plan on a fleet, of which each pod gets the load of the plan; undefined
 * when it was stopped. Throws a `RejectedError`.
 */
export async function simulate(options: SimulateOptions) {
  const { plan, measurements, pods, seed, onProgress } = options
  const problems = notModelled(plan)
  if (problems.length > 0) throw new RejectedError(...problems)
  const specs = [NO_FAULTS, ...plan.stages.map((stage) => stageRules(plan, stage))]
  const { rounds, podsPerRound } = sizeOf(options, specs.length)
  const values = plan.stages.map(() => [] as StageValues[])
  let simulatedTasks = 0
  for (let round = 0; round < rounds; round++) {
    const runs = await simulateRound(options, specs, round, podsPerRound)
    if (runs === undefined) return undefined
    const [before = [], ...stages] = runs
    for (const [i, stage] of stages.entries()) values[i]!.push(stageValues(stage, before, pods))
    simulatedTasks += runs.flat().reduce((sum, { counts }) => sum + counts.tasks, 0)
    onProgress((round + 1) / rounds)
  }
  return {
    schema: SIMULATION_SCHEMA,
    plan: plan.file.name,
    seed,
    pods,
    rounds,
    // A sample of a large fleet.
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

/** Runs each stage on the pods of a round; undefined when it was stopped. */
async function simulateRound(
  options: SimulateOptions,
  specs: readonly RuleFile[],
  round: number,
  podsPerRound: number,
): Promise<readonly (readonly PodCounts[])[] | undefined> {
  const { plan, measurements, pods, seed, stop } = options
  const random = seededRandom(seed, `round/${round}`)
  const measured = measurements[round % measurements.length]!
  // Another seed samples other calls.
  const rulesSeed = Math.floor(random() * 2 ** 32)
  const tools = [...measured.tools].map(([tool, each]) => drawTool(tool, each, random))
  const weights = weightsOf(plan, [...measured.tools.keys()])
  const runs = specs.map(() => [] as PodCounts[])
  for (let i = 0; i < podsPerRound; i++) {
    const pod = Math.floor(((i + random()) * pods) / podsPerRound)
    for (const [stage, spec] of specs.entries()) {
      const rules = callPlanner({ ...spec, seed: rulesSeed }, `pod-${round}-${pod}`)
      const run = new PodRun({
        rules,
        tools,
        weights,
        load: plan.file.load,
        ...boundsOf(options, pod),
        // The stages begin with the same tasks, so that their differences have less noise.
        random: seededRandom(seed, `round/${round}/pod/${pod}`),
        stop,
      })
      await run.run()
      const { latency, recorder } = run
      runs[stage]!.push({ counts: recorder.counts, injected: rules.injected(), latency })
      await nextLoop()
      if (stop.aborted) return undefined
    }
  }
  return runs
}

/** The results of a pod that are kept. */
interface PodCounts extends Pick<PodRun, 'latency'> {
  readonly counts: IndicatorCounts
  /** The calls and retries that a fault was injected into, once for each rule. */
  readonly injected: number
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
function boundsOf({ plan, pods, tasks }: SimulateOptions, pod: number) {
  if (tasks === undefined) return { tasks: Infinity, durationMs: plan.file.hold }
  const part = Math.floor(((pod + 1) * tasks) / pods) - Math.floor((pod * tasks) / pods)
  return { tasks: part, durationMs: Infinity }
}

/** Chooses the rounds, and the pods of each: at least two, whose difference shows their variance. */
function sizeOf(options: SimulateOptions, stages: number) {
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

/** Configures the load of a stage on one pod. */
interface PodSetup {
  readonly rules: ReturnType<typeof callPlanner>
  readonly tools: readonly ToolModel[]
  /** The sums of the weights of the tools. */
  readonly weights: Float64Array
  readonly load: PlanFile['load']
  readonly tasks: number
  /** Infinity when the number of tasks ends the load. */
  readonly durationMs: number
  readonly random: RandomSource
  readonly stop: AbortSignal
}

const TIMEOUT: CallResponse = { kind: 'timeout', markers: [] }
const OK: CallResponse = { kind: 'ok', markers: [] }
/** On the response to a call with a fault, as a sidecar marks it. */
const MARKERS = ['simulated/fault']
/** Bounds the time and memory of a stage: clients of a closed load call faster when calls fail. */
const MOST_ATTEMPTS = 1_000_000
const NEVER = new AbortController().signal

/** Runs the load of a stage against one pod in simulated time. */
class PodRun {
  readonly recorder: Recorder
  /** From the start of a task to the end of its last call. */
  readonly latency = new Histogram()
  readonly #clock = new VirtualTime()
  readonly #setup: PodSetup
  readonly #models: ReadonlyMap<string, { readonly model: ToolModel; readonly facts: CallFacts }>
  #attempts = 0
  /** The first error that is not the response of a call. */
  #failure: Error | undefined

  constructor(setup: PodSetup) {
    this.#setup = setup
    this.recorder = new Recorder(() => this.#clock.now())
    const models = setup.tools.map((model) => [model.tool, { model, facts: toolCall(model.tool) }])
    this.#models = new Map(models as [])
  }

  /** Runs the tasks of `squall load`, which call modelled tools. */
  async run(): Promise<void> {
    const { load, durationMs, tasks, tools, weights, random, stop } = this.#setup
    const clock = this.#clock
    const { recorder } = this
    const resilience = resilienceOf(load)
    const none = { baseline: undefined, recording: undefined, faults: undefined, signal: NEVER }
    const seed = Math.floor(random() * 2 ** 32)
    const context = { ...none, resilience, recorder, seed, clock }
    const calls = new Map(tools.map(({ tool }) => [tool, plannedCall(tool)]))
    const plan = (): readonly PlannedCall[] =>
      Array.from({ length: load.fanOut }, () => calls.get(tools[chosen(weights, random)]!.tool)!)
    const runTask = taskRunner(plan, context, LOAD_DEFAULTS.work, () => ({}))
    const client: LoadClient = {
      call: (tool, _, { timeoutMs }) =>
        this.#call(tool, clock.now() + timeoutMs).catch((error: Error) => {
          this.#failure ??= error
          // No call gets a response any more, and the time ends.
          return new Promise<never>(() => {})
        }),
      hold: async () => undefined,
      close: async () => {},
    }
    const clients = Array.from({ length: load.clients }, () => client)
    const pace = {
      ...LOAD_DEFAULTS.pace,
      ...(load.rate !== undefined && { rate: load.rate }),
      ...(durationMs !== Infinity && { durationMs }),
      tasks,
    }
    const measured: RunTask = async (each, task, at) => {
      const hasSent = await runTask(each, task, at)
      this.latency.add(clock.now() - at)
      return hasSent
    }
    const fixed = { clients, callsPerTask: load.fanOut, stop, clock }
    const running = runModel(pace, fixed, measured, recorder.tasks)
    await clock.run(stop)
    if (this.#failure !== undefined) throw this.#failure
    if (!stop.aborted) await running
  }

  async #call(tool: string, timeoutAt: number): Promise<CallResponse> {
    if (++this.#attempts > MOST_ATTEMPTS) throw tooMany()
    const { model, facts } = this.#models.get(tool)!
    const now = this.#clock.now()
    const plan = this.#setup.rules.plan(facts, now)
    if (plan === undefined) return this.#upstream(model, timeoutAt)
    return this.#faulted(plan, model, facts, timeoutAt).then((response) => {
      finishPlan(plan)
      const isInjected = plan.matched.some(({ hasApplied }) => hasApplied)
      return isInjected ? { ...response, markers: MARKERS } : response
    })
  }

  async #faulted(
    { matched }: CallPlan,
    model: ToolModel,
    facts: CallFacts,
    timeoutAt: number,
  ): Promise<CallResponse> {
    const turns = matched.flatMap((match) =>
      match.dryRun ? [] : match.rule.faults.map((_, index) => ({ match, index })),
    )
    const asked = await this.#ask('request', turns, facts, timeoutAt)
    if (asked !== undefined) {
      if (asked !== TIMEOUT) await this.#clock.sleep(model.least)
      return asked
    }
    const response = await this.#upstream(model, timeoutAt)
    if (['reset', 'refused', 'timeout'].includes(response.kind)) return response
    return (await this.#ask('response', turns, facts, timeoutAt)) ?? response
  }

  /** Asks the faults in their order; returns the response that one of them makes. */
  async #ask(
    hook: Hook,
    turns: readonly { readonly match: CallPlan['matched'][number]; readonly index: number }[],
    facts: CallFacts,
    timeoutAt: number,
  ): Promise<CallResponse | undefined> {
    for (const { match, index } of turns) {
      const now = this.#clock.now()
      const { verdict, slept, acts } = await askFault(match, index, hook, facts, now)
      const endsAt = verdict.kind === 'hang' ? Infinity : now + slept
      if (endsAt > now) await this.#clock.sleep(Math.min(endsAt, timeoutAt) - now)
      if (acts) match.end()
      if (endsAt >= timeoutAt) return TIMEOUT
      const injected = injectedResponse(verdict)
      if (injected !== undefined) return injected
    }
    return undefined
  }

  async #upstream(model: ToolModel, timeoutAt: number): Promise<CallResponse> {
    const { random } = this.#setup
    const now = this.#clock.now()
    const failure = model.fails(random)
    const at = now + model.latency(random)
    const isLate = failure?.kind === 'timeout' || at >= timeoutAt
    await this.#clock.sleep((isLate ? timeoutAt : at) - now)
    return isLate ? TIMEOUT : (failure ?? OK)
  }
}

/** Returns a call whose result is wrong where the model says so. */
function plannedCall(tool: string): PlannedCall {
  const expect = [{ text: '', tool, holds: (result: unknown) => result !== WRONG.result }]
  return { tool, args: {}, key: tool, expect, fitsSchema: undefined }
}

function tooMany(): RejectedError {
  return rejectionError(
    'NOT_MODELLED',
    `a pod would make more than ${MOST_ATTEMPTS} calls and retries in a stage: the clients call again as fast as calls fail`,
    'limit the stages with --fleet-tasks, or give the load a rate',
  )
}
