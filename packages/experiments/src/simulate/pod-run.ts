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
import { type CallResponse, originOf } from '../load/clients/load-client.ts'
import { arrivalCount, arrivalTime } from '../load/load-models.ts'
import { LOAD_DEFAULTS } from '../load/load-options.ts'
import { backoffMs, createRetryBudget, isRetryable } from '../load/resilience.ts'
import { Histogram } from '../load/results/histogram.ts'
import { Recorder } from '../load/results/recorder.ts'
import type { CallOutcome } from '../load/results/tool-recorder.ts'
import { askFault, type Hook, injectedResponse } from './ask-fault.ts'
import { EventQueue } from './event-queue.ts'
import { WRONG } from './measured.ts'
import { chosen, type ToolModel } from './tool-model.ts'

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

interface TaskCall {
  readonly tool: ToolModel
  readonly intendedAt: number
  readonly deadlineAt: number
  readonly facts: CallFacts
  readonly done: (outcome: CallOutcome) => void
  injected: boolean
}

interface Attempt {
  readonly call: TaskCall
  /** From 1. */
  readonly number: number
  readonly timeoutAt: number
  readonly plan: CallPlan | undefined
  readonly turns: readonly { readonly match: MatchedRule; readonly index: number }[]
}

const TIMEOUT: CallResponse = { kind: 'timeout', markers: [] }
const OK: CallResponse = { kind: 'ok', markers: [] }
/** Bounds the time and memory of a stage: clients of a closed load call faster when calls fail. */
const MOST_ATTEMPTS = 1_000_000
const NO_TURNS: Attempt['turns'] = []

/** Runs the load of a stage against one pod in simulated time, as `squall load` does in real time. */
export class PodRun {
  readonly recorder: Recorder
  /** From the start of a task to the end of its last call. */
  readonly latency = new Histogram()
  readonly #queue = new EventQueue()
  readonly #states = new RuleStates()
  readonly #budget: ReturnType<typeof createRetryBudget>
  readonly #setup: PodSetup
  readonly #facts: ReadonlyMap<ToolModel, CallFacts>
  #attempts = 0

  constructor(setup: PodSetup) {
    const { retryBudget } = setup.load
    this.#setup = setup
    this.recorder = new Recorder(() => this.#queue.now)
    this.#budget = createRetryBudget(retryBudget === undefined ? undefined : retryBudget / 100)
    this.#states.adopt(setup.rules, 0)
    this.#facts = new Map(setup.tools.map((each) => [each, factsOf(each.tool)]))
  }

  /** The calls and retries that a fault was injected into, once for each rule. */
  get injected(): number {
    return this.#setup.rules.rules.reduce(
      (sum, rule) => sum + (this.#states.of(rule)?.counts.injected ?? 0),
      0,
    )
  }

  async run(): Promise<void> {
    const { load, durationMs, tasks } = this.#setup
    if (load.rate === undefined) this.#closed(load.clients, durationMs, tasks)
    else this.#open(load.rate / load.fanOut, durationMs, tasks)
    await this.#queue.run(this.#setup.stop)
  }

  #closed(clients: number, durationMs: number, tasks: number): void {
    let next = 0
    const work = (): void => {
      if (next >= tasks || this.#queue.now >= durationMs) return
      next++
      this.#task(this.#queue.now, work)
    }
    for (let i = 0; i < clients; i++) this.#queue.at(0, work)
  }

  #open(tasksPerSecond: number, durationMs: number, tasks: number): void {
    const arrivals = { tasksPerSecond, rampMs: 0, durationMs, tasks }
    const total = durationMs === Infinity ? tasks : arrivalCount(arrivals)
    const calls = this.#setup.load.fanOut
    const most = Math.max(calls, LOAD_DEFAULTS.pace.maxInFlight)
    let inFlight = 0
    const arrive = (task: number): void => {
      if (task >= total) return
      const at = arrivalTime(task, arrivals)
      this.#queue.at(at, () => {
        if (inFlight + calls > most) this.recorder.dropped(calls)
        else {
          inFlight += calls
          this.#task(at, () => void (inFlight -= calls))
        }
        arrive(task + 1)
      })
    }
    arrive(0)
  }

  #task(intendedAt: number, done: () => void): void {
    const { load, tools, weights, random } = this.#setup
    const { fanOut, degrade, deadline = Infinity } = load
    const ends: { critical: boolean; outcome: CallOutcome }[] = []
    for (let i = 0; i < fanOut; i++) {
      const tool = tools[chosen(weights, random)]!
      const ended = (outcome: CallOutcome): void => {
        ends.push({ critical: i < fanOut - degrade, outcome })
        if (ends.length < fanOut) return
        this.recorder.task(ends)
        this.latency.add(this.#queue.now - intendedAt)
        done()
      }
      const deadlineAt = intendedAt + deadline
      const facts = this.#facts.get(tool)!
      this.#budget.earn()
      this.recorder.begin(tool.tool)
      this.#attempt({ tool, intendedAt, deadlineAt, facts, done: ended, injected: false }, 1)
    }
  }

  #attempt(call: TaskCall, number: number): void {
    const { rules, load } = this.#setup
    const { now } = this.#queue
    if (++this.#attempts > MOST_ATTEMPTS) throw tooMany()
    const plan = planCall(rules, call.facts, this.#states, () => now)
    const turns = plan === undefined ? NO_TURNS : turnsOf(plan)
    const attempt = { call, number, timeoutAt: now + load.timeout, plan, turns }
    if (turns.length === 0) this.#upstream(attempt)
    else this.#queue.at(now, () => this.#ask(attempt, 'request', OK))
  }

  /** Asks the faults in their order; `response` is that of the upstream. */
  async #ask(attempt: Attempt, hook: Hook, response: CallResponse, from = 0): Promise<void> {
    const { call, timeoutAt } = attempt
    const { now } = this.#queue
    for (const [i, { match, index }] of attempt.turns.entries()) {
      if (i < from) continue
      const { verdict, slept, acts } = await askFault(match, index, hook, call.facts, now)
      const wait = verdict.kind === 'hang' ? Infinity : slept
      if (wait > 0) {
        this.#queue.at(Math.min(now + wait, timeoutAt), () => {
          if (acts) match.end()
          if (now + wait >= timeoutAt) return this.#end(attempt, TIMEOUT)
          return this.#ask(attempt, hook, response, i + 1)
        })
        return
      }
      if (acts) match.end()
      const injected = injectedResponse(verdict)
      if (injected === undefined) continue
      const took = hook === 'request' ? call.tool.least : 0
      this.#queue.at(now + took, () => this.#end(attempt, injected))
      return
    }
    if (hook === 'request') this.#upstream(attempt)
    else this.#end(attempt, response)
  }

  #upstream(attempt: Attempt): void {
    const { call, timeoutAt, turns } = attempt
    const { random } = this.#setup
    const failure = call.tool.fails(random)
    const at = this.#queue.now + call.tool.latency(random)
    if (failure?.kind === 'timeout' || at >= timeoutAt) {
      this.#queue.at(timeoutAt, () => this.#end(attempt, TIMEOUT))
      return
    }
    const response = failure ?? OK
    const isLost = response.kind === 'reset' || response.kind === 'refused'
    this.#queue.at(at, () =>
      turns.length === 0 || isLost
        ? this.#end(attempt, response)
        : this.#ask(attempt, 'response', response),
    )
  }

  #end({ call, number, plan }: Attempt, response: CallResponse): void {
    const { load, random } = this.#setup
    const { recorder } = this
    const { now } = this.#queue
    const { tool } = call.tool
    if (plan !== undefined) {
      finishPlan(plan)
      call.injected ||= plan.matched.some(({ hasApplied }) => hasApplied)
    }
    if (number <= load.retries && isRetryable(response) && this.#budget.spend()) {
      recorder.retried(tool)
      const wait = backoffMs(number, response, random)
      this.#queue.at(now + wait, () => this.#attempt(call, number + 1))
      return
    }
    const responded = response.kind === 'ok'
    const correct = responded && response !== WRONG
    const inTime = response.kind !== 'timeout' && now <= call.deadlineAt
    const outcome: CallOutcome = {
      responded,
      schemaOk: responded,
      usable: correct,
      response,
      origin: originOf(response),
      injected: call.injected,
      correct,
      inTime,
      success: correct && inTime,
      latencyMs: now - call.intendedAt,
    }
    recorder.call(tool, outcome)
    call.done(outcome)
  }
}

function tooMany(): RejectedError {
  return rejectionError(
    'NOT_MODELLED',
    `a pod would make more than ${MOST_ATTEMPTS} calls and retries in a stage: the clients call again as fast as calls fail`,
    'bound the stages with --tasks, or give the load a rate',
  )
}

function turnsOf({ matched }: CallPlan): Attempt['turns'] {
  return matched.flatMap((match) =>
    match.dryRun ? [] : match.rule.faults.map((_, index) => ({ match, index })),
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
