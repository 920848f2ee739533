import { randomBytes } from 'node:crypto'
import { isRecord, type RandomSource, seededRandom } from '#base'
import { type Baseline, type BaselineRecorder, asInBaseline } from './baseline.ts'
import type { PlannedCall } from './call-plan.ts'
import type { Clock } from './clock.ts'
import { type CallResponse, causesOf, type LoadClient, originOf } from './clients/load-client.ts'
import type { LoadResilience } from './load-options.ts'
import type { Recorder } from './results/recorder.ts'
import type { RequestCounts } from './results/task-recorder.ts'
import type { CallEnd, CallOutcome, ResponseChecks } from './results/tool-recorder.ts'
import type { FaultLookup } from './sidecar-faults.ts'

const FAILED: ResponseChecks = { responded: false, schemaOk: false, usable: false }

/** Checks a response against the schema of its tool, the expectations and the baseline. */
export function checkResponse(
  call: PlannedCall,
  response: CallResponse,
  baseline: Baseline | undefined,
): ResponseChecks {
  if (response.kind !== 'ok') return FAILED
  const { result } = response
  return {
    responded: true,
    schemaOk: fits(call, result),
    usable:
      call.expect.every((expectation) => expectation.holds(result)) &&
      (baseline === undefined || asInBaseline(baseline, call.key, result)),
  }
}

function fits({ fitsSchema }: PlannedCall, result: unknown): boolean {
  if (fitsSchema === undefined || !isRecord(result)) return true
  const { resultType, structuredContent } = result
  // A request for input is not the final result.
  if (resultType !== undefined && resultType !== 'complete') return true
  return structuredContent !== undefined && fitsSchema(structuredContent)
}

/** The due time of a call, its deadline and its task. */
export interface CallTimes {
  /** The planned send time; latency counts from here. */
  readonly intendedAt: number
  /** Infinity without a deadline. */
  readonly deadlineAt: number
  /** The id that requests name; undefined where the user's headers name one. */
  readonly task?: string | undefined
  /** The id of the trace in which requests are sent. */
  readonly trace?: string | undefined
  /** Counts the requests that are sent. */
  readonly requests: RequestCounts
}

export interface CallContext {
  readonly resilience: LoadResilience
  readonly recorder: Recorder
  readonly baseline: Baseline | undefined
  readonly recording: BaselineRecorder | undefined
  readonly signal: AbortSignal
  readonly seed: number
  readonly faults: FaultLookup | undefined
  readonly clock: Clock
}

interface Attempt {
  readonly response: CallResponse
  readonly checks: ResponseChecks
  readonly endedAt: number
}

/** Sends calls with retries, circuit breakers and deadlines. */
export class CallRunner {
  readonly #clock: Clock
  readonly #context: CallContext
  readonly #budget: ReturnType<typeof createRetryBudget>
  readonly #breakers = new Map<string, Breaker>()
  /** The time of the next trial call by tool. */
  readonly #trialAt = new Map<string, number>()
  readonly #jitter: RandomSource

  constructor(context: CallContext) {
    this.#clock = context.clock
    this.#context = context
    this.#budget = createRetryBudget(context.resilience.retryBudget)
    this.#jitter = seededRandom(context.seed, 'jitter')
  }

  /** Sends a call and its retries. Never rejects. */
  async run(client: LoadClient, call: PlannedCall, times: CallTimes): Promise<CallEnd> {
    const { recorder, signal } = this.#context
    if (this.#isTooLate(call.tool, times)) return 'skipped'
    this.#budget.earn()
    recorder.inFlight.add(call.tool)
    const begun = this.#clock.now()
    let injected = false
    let askedMs = 0
    for (let attempt = 1; ; attempt++) {
      const attempted = await this.#attempt(client, call, times, attempt)
      const { response } = attempted
      injected ||= response.markers.length > 0
      const waitsFrom = this.#clock.now()
      const retry = await this.#mayRetry(response, attempt, call.tool, times)
      if (response.retryAfterMs !== undefined) askedMs += this.#clock.now() - waitsFrom
      if (signal.aborted && response.retryAfterMs !== undefined) {
        const outcome = this.#end(call, attempted, injected, times)
        recorder.tools.get(call.tool)!.askedMs += askedMs
        return outcome
      }
      if (signal.aborted) {
        recorder.abandoned(call.tool, this.#clock.now() - begun - askedMs, askedMs)
        return 'abandoned'
      }
      if (!retry) return this.#end(call, attempted, injected, times)
      recorder.retried(call.tool)
    }
  }

  async #attempt(
    client: LoadClient,
    call: PlannedCall,
    times: CallTimes,
    number: number,
  ): Promise<Attempt> {
    const { resilience, recorder, signal, baseline } = this.#context
    const clock = this.#clock
    const breaker = this.#breakerOf(call.tool)
    if (breaker?.allows(clock.now()) === false) {
      const message = 'not sent: circuit breaker open'
      const response: CallResponse = { kind: 'breaker', markers: [], message }
      return { response, checks: FAILED, endedAt: clock.now() }
    }
    times.requests[number === 1 ? 'calls' : 'retries']++
    const sentAt = clock.now()
    const left = resilience.skipLate ? Math.ceil(times.deadlineAt - sentAt) : Infinity
    const timeoutMs = Math.min(resilience.timeoutMs, left)
    const { trace } = times
    const received = await client.call(call.tool, call.args, {
      timeoutMs,
      signal,
      task: times.task,
      // Sampled, or nobody finds the failed calls of the report.
      traceparent: trace && `00-${trace}-${randomBytes(8).toString('hex')}-01`,
    })
    const unattributed = { ...received, trace }
    const endedAt = clock.now()
    if (signal.aborted) return { response: unattributed, checks: FAILED, endedAt }
    breaker?.record(unattributed.kind === 'ok', sentAt, endedAt)
    const checks = checkResponse(call, unattributed, baseline)
    const correct = checks.schemaOk && checks.usable
    const response = correct ? unattributed : await this.#attributed(call.tool, unattributed)
    recorder.attempt(call.tool, response, endedAt - sentAt, correct)
    return { response, checks, endedAt }
  }

  /** Asks the sidecar for the faults of an incorrect response whose markers do not explain it. */
  async #attributed(tool: string, response: CallResponse): Promise<CallResponse> {
    const { faults } = this.#context
    if (faults === undefined || causesOf(response).length > 0 || response.id === undefined)
      return response
    const { markers } = response
    return { ...response, markers: [...markers, ...(await faults.markersOf(tool, response.id))] }
  }

  /** Waits before a retry; false when the call is not retried. */
  async #mayRetry(
    response: CallResponse,
    attempt: number,
    tool: string,
    times: CallTimes,
  ): Promise<boolean> {
    const { resilience, signal } = this.#context
    if (attempt > resilience.retries || !isRetryable(response)) return false
    const wait = backoffMs(attempt, response, this.#jitter)
    const then = this.#clock.now() + wait
    if (resilience.skipLate && then + this.#medianLatency(tool) > times.deadlineAt) return false
    if (!this.#budget.spend()) return false
    await this.#clock.sleep(wait, signal)
    return !signal.aborted
  }

  #end(
    call: PlannedCall,
    { response, checks, endedAt }: Attempt,
    injected: boolean,
    times: CallTimes,
  ): CallOutcome {
    const { recorder, recording } = this.#context
    if (checks.responded) recording?.add(call.key, response.result)
    const { responded, schemaOk, usable } = checks
    const correct = responded && schemaOk && usable
    const inTime = response.kind !== 'timeout' && endedAt <= times.deadlineAt
    const outcome: CallOutcome = {
      responded,
      schemaOk,
      usable,
      response,
      origin: originOf(response),
      injected,
      correct,
      inTime,
      success: correct && inTime,
      latencyMs: endedAt - times.intendedAt,
    }
    recorder.call(call.tool, outcome)
    return outcome
  }

  /** Returns true to skip a call; a trial call per second shows whether the tool is faster again. */
  #isTooLate(tool: string, { deadlineAt }: CallTimes): boolean {
    if (!this.#context.resilience.skipLate) return false
    const now = this.#clock.now()
    const isTrial = now + 1 <= deadlineAt && now >= (this.#trialAt.get(tool) ?? 0)
    if (!isTrial && now + this.#medianLatency(tool) > deadlineAt) return true
    this.#trialAt.set(tool, now + OPEN_MS)
    return false
  }

  /** Returns the recent median latency of a tool, at least a millisecond. */
  #medianLatency(tool: string): number {
    return Math.max(1, this.#context.recorder.tools.get(tool)?.medianMs ?? 0)
  }

  #breakerOf(tool: string): Breaker | undefined {
    const { breaker: share } = this.#context.resilience
    if (share === undefined) return undefined
    const known = this.#breakers.get(tool)
    if (known !== undefined) return known
    const made = createBreaker(share)
    this.#breakers.set(tool, made)
    return made
  }
}

const FIRST_MS = 50
const MOST_MS = 2000
/** Allows this many retries before calls have earned any. */
const ADVANCE = 10
const MOST_SAVED = 1000

/** JSON-RPC codes for an invalid call, which a retry cannot fix. */
const FINAL_CODES = new Set([-32700, -32600, -32601, -32602, -32020, -32021, -32022])

/** Returns true when a retry may succeed. */
function isRetryable({ kind, code = 0, message = '' }: CallResponse): boolean {
  switch (kind) {
    case 'timeout':
    case 'reset':
    case 'refused':
    case 'incomplete':
    case 'malformed':
      return true
    case 'http':
      return code === 408 || code === 425 || code === 429 || code >= 500
    case 'rpc':
      return !FINAL_CODES.has(code)
    case 'tool':
      // Servers also report invalid arguments as tool errors.
      return !/-3260[0-2]/.test(message)
    case 'breaker':
    case 'ok':
    default:
      return false
  }
}

/**
 * Returns a random wait before a retry, up to a bound that doubles; the first retry has number 1.
 */
function backoffMs(attempt: number, response: CallResponse, random: RandomSource): number {
  const bound = Math.min(MOST_MS, FIRST_MS * 2 ** attempt)
  return Math.max(response.retryAfterMs ?? 0, random() * bound)
}

/** Limits retries to `share` per call, to prevent retry storms; undefined means unlimited. */
function createRetryBudget(share: number | undefined) {
  let saved = ADVANCE
  return {
    /** Adds the share of a retry that one call earns. */
    earn(): void {
      saved = Math.min(MOST_SAVED, saved + (share ?? 0))
    },
    /** Takes a retry from the budget; returns false when the budget is empty. */
    spend(): boolean {
      if (share === undefined) return true
      // Sums of shares such as 0.1 have rounding errors.
      if (saved < 1 - 1e-9) return false
      saved -= 1
      return true
    },
  }
}

type Breaker = ReturnType<typeof createBreaker>

/** The window of recent calls, and the minimum number of calls in the window. */
const WINDOW = 50
const LEAST = 20
/** The time without calls before a trial call. */
const OPEN_MS = 1000

/**
 * Creates a circuit breaker, which stops calls of a tool while the error rate of its last calls is
 * at least `share`.
 */
function createBreaker(share: number) {
  let last: boolean[] = []
  let closedAt = -Infinity
  let open = false
  /** The time of the trial call; Infinity without one. */
  let triedAt = Infinity
  return {
    allows(now: number): boolean {
      if (!open) return true
      if (now < closedAt || triedAt < Infinity) return false
      triedAt = now
      return true
    },
    record(ok: boolean, sentAt: number, now: number): void {
      if (open) {
        // Results of calls that were in flight when the breaker opened are ignored.
        if (sentAt < triedAt) return
        triedAt = Infinity
        if (ok) {
          open = false
          last = []
        } else {
          closedAt = now + OPEN_MS
        }
        return
      }
      last.push(ok)
      if (last.length > WINDOW) last.shift()
      const failed = last.filter((each) => !each).length
      if (last.length < LEAST || failed / last.length < share) return
      open = true
      closedAt = now + OPEN_MS
    },
  }
}
