import type { RandomSource } from '#base'
import type { Call } from '#protocol'
import {
  type CallFacts,
  finishPlan,
  type MatchedRule,
  type Plan as CallPlan,
  planCall,
  type RuleSet,
  RuleStates,
} from '#rules'
import type { PlanFile } from '../experiment/plan-schema.ts'
import { type RejectedError, rejectionError } from '../experiment/rejection.ts'
import { resilienceOf } from '../experiment/plan.ts'
import type { PlannedCall } from '../load/call-plan.ts'
import { CallRunner } from '../load/call-runner.ts'
import type { CallResponse, LoadClient } from '../load/clients/load-client.ts'
import { type RunTask, taskRunner } from '../load/load-models.ts'
import { LOAD_DEFAULTS } from '../load/load-options.ts'
import { Histogram } from '../load/results/histogram.ts'
import { Recorder } from '../load/results/recorder.ts'
import { runModel } from '../load/run-load.ts'
import { askFault, type Hook, injectedResponse } from './ask-fault.ts'
import { WRONG } from './measured.ts'
import { chosen, type ToolModel } from './tool-model.ts'
import { VirtualTime } from './virtual-time.ts'

/** Configures the load of a stage on one pod. */
export interface PodSetup {
  readonly rules: RuleSet
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
export class PodRun {
  readonly recorder: Recorder
  /** From the start of a task to the end of its last call. */
  readonly latency = new Histogram()
  readonly #clock = new VirtualTime()
  readonly #states = new RuleStates()
  readonly #setup: PodSetup
  readonly #models: ReadonlyMap<string, { readonly model: ToolModel; readonly facts: CallFacts }>
  #attempts = 0
  /** The first error that is not the response of a call. */
  #failure: Error | undefined

  constructor(setup: PodSetup) {
    this.#setup = setup
    this.recorder = new Recorder(() => this.#clock.now())
    this.#states.adopt(setup.rules, 0)
    const models = setup.tools.map((model) => [model.tool, { model, facts: factsOf(model.tool) }])
    this.#models = new Map(models as [])
  }

  /** The calls and retries that a fault was injected into, once for each rule. */
  get injected(): number {
    return this.#setup.rules.rules.reduce(
      (sum, rule) => sum + (this.#states.of(rule)?.counts.injected ?? 0),
      0,
    )
  }

  /** Runs the tasks of `squall load`, which call modelled tools. */
  async run(): Promise<void> {
    const { load, durationMs, tasks, tools, weights, random, stop } = this.#setup
    const clock = this.#clock
    const { recorder } = this
    const resilience = resilienceOf(load)
    const none = { baseline: undefined, recording: undefined, faults: undefined, signal: NEVER }
    const seed = Math.floor(random() * 2 ** 32)
    const runner = new CallRunner({ ...none, resilience, recorder, seed, clock })
    const calls = new Map(tools.map(({ tool }) => [tool, plannedCall(tool)]))
    const plan = (): readonly PlannedCall[] =>
      Array.from({ length: load.fanOut }, () => calls.get(tools[chosen(weights, random)]!.tool)!)
    const work = LOAD_DEFAULTS.work
    const runTask = taskRunner(plan, runner, recorder, work, resilience, {})
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
      await runTask(each, task, at)
      this.latency.add(clock.now() - at)
    }
    const fixed = { clients, callsPerTask: load.fanOut, stop, clock }
    const running = runModel(pace, fixed, measured, recorder)
    await clock.run(stop)
    if (this.#failure !== undefined) throw this.#failure
    if (!stop.aborted) await running
  }

  async #call(tool: string, timeoutAt: number): Promise<CallResponse> {
    if (++this.#attempts > MOST_ATTEMPTS) throw tooMany()
    const { model, facts } = this.#models.get(tool)!
    const now = this.#clock.now()
    const plan = planCall(this.#setup.rules, facts, this.#states, () => now)
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
    turns: readonly { readonly match: MatchedRule; readonly index: number }[],
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

function factsOf(tool: string): CallFacts {
  const call: Call = {
    id: 1,
    method: 'tools/call',
    name: tool,
    params: { name: tool },
    transport: 'streamable-http',
    protocolVersion: undefined,
    progressToken: undefined,
  }
  const http = { method: 'POST', path: '/mcp' }
  return { call, headers: [], session: undefined, client: undefined, http }
}
