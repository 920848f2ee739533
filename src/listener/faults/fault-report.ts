import { type Call, isOther, toolOf } from '../../mcp/call.ts'
import type { FalseUse } from '../falsified/false-values.ts'
import type { WatchedCounts } from '../../telemetry/watched-counts.ts'
import type { LogIds, LogInjections, Logger } from '../../telemetry/log.ts'
import { ShownIds, cutText } from '../../telemetry/shown-ids.ts'
import type { FaultEffect, Telemetry } from '../../telemetry/telemetry.ts'
import type {
  FaultListener,
  FaultRef,
  InjectedRecord,
  NotApplicableRecord,
} from './exchange-context.ts'

/** Configures the report of faults. */
export interface FaultReportOptions {
  readonly telemetry: Pick<Telemetry, 'injected'>
  readonly watched: Pick<WatchedCounts, 'canaryReturned' | 'usedFalse'>
  readonly logger: Logger
  /** Returns the label of a rule in metrics. */
  readonly ruleLabel: (rule: string) => string
  readonly recent: RecentFaults
  /** The form of logged ids: clients may put secrets or names of people into ids. */
  readonly ids?: LogIds
  /** Which injected faults are logged; all by default. */
  readonly injections?: LogInjections
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

type RefFields = Omit<InjectedFaultEntry, 'effect' | 'delayMs'>

const TOOL_CALL = 'tools/call'
const MAX_TEXT = 128
/** The most effects of one exchange that are kept for the records of its calls. */
const MAX_EFFECTS = 200

/**
 * Reports the effects of faults to metrics and the log. A fault that takes effect on a call is one
 * log line and one count in `squall_faults_injected_total`, however often it acts on that call.
 * Lines are left out only as `injections` says. From texts of clients and upstreams, the log has
 * only tool names, methods and ids, shortened; ids can be hashed or omitted.
 */
export class FaultReport {
  readonly parts: FaultReportOptions
  /** Undefined where all lines are written. */
  readonly sample: LineSample | undefined
  readonly ids: ShownIds

  constructor(parts: FaultReportOptions) {
    this.parts = parts
    this.ids = new ShownIds(parts.ids)
    if (parts.injections === 'sample') this.sample = new LineSample(parts.logger)
  }

  /** Creates the listener of one exchange; the session's id is only logged as a hash. */
  of(session: string | undefined, trace?: string): FaultListener {
    return new ExchangeReport(this, session, trace)
  }
}

/** The most lines about injected faults in a second, when they are sampled. */
const LINES_PER_SECOND = 10

/** Bounds lines in each second. */
class LineSample {
  readonly #logger: Logger
  #second = 0
  #lines = 0
  #leftOut = 0

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Returns false for a line that is left out: their number is logged at most once a second. */
  admits(now: number): boolean {
    const second = Math.floor(now / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#lines = 0
    }
    if (++this.#lines <= LINES_PER_SECOND) return true
    if (this.#leftOut++ === 0) setTimeout(() => this.#report(), 1000).unref()
    return false
  }

  #report(): void {
    this.#logger.info(
      { leftOut: this.#leftOut },
      'injected faults exceed the log limit; further faults are only counted',
    )
    this.#leftOut = 0
  }
}

class ExchangeReport implements FaultListener {
  readonly #report: FaultReport
  readonly #session: string | undefined
  readonly #trace: string | undefined
  /** The effects so far, each with its call; undefined for an effect on the whole exchange. */
  readonly #effects: (FaultEffect & { readonly call: Call | undefined })[] = []

  constructor(report: FaultReport, session: string | undefined, trace: string | undefined) {
    this.#report = report
    this.#session = session
    this.#trace = trace
  }

  injected(record: InjectedRecord): void {
    const { telemetry, logger, ruleLabel, recent, now, injections } = this.#report.parts
    const { rule, fault, call, first, effect, isLater = false } = record
    // An infinite wait has no duration.
    const delayMs = Number.isFinite(record.delayMs) ? record.delayMs : undefined
    telemetry.injected({
      rule: ruleLabel(rule),
      fault,
      tool: toolOf(call),
      first: first && !isLater,
      delaySeconds: delayMs === undefined ? undefined : delayMs / 1000,
      trace: call?.trace ?? this.#trace,
    })
    if (!first) return
    const fields = this.#fields(record)
    // Member by member: members behind a spread cost a hidden class for each entry.
    const entry: InjectedFaultEntry = {
      rule,
      fault,
      tool: fields.tool,
      method: fields.method,
      id: fields.id,
      session: fields.session,
      effect: effect === undefined ? undefined : cutText(effect, MAX_TEXT),
      delayMs: delayMs === undefined ? undefined : Math.round(delayMs * 1000) / 1000,
    }
    if (!isOther(call) && this.#effects.length < MAX_EFFECTS) {
      const { effect: shown, delayMs: delay } = entry
      const acted = performance.now()
      this.#effects.push({ rule, fault, call, effect: shown, delayMs: delay, at: acted })
    }
    const at = now()
    recent.add({ at, entry })
    if (injections === 'off' || this.#report.sample?.admits(at) === false) return
    logger.info(entry, isLater ? 'injected fault continues' : 'fault injected')
  }

  effectsOn(call: Call): readonly FaultEffect[] {
    return this.#effects.filter((each) => each.call === call || each.call === undefined)
  }

  notApplicable(record: NotApplicableRecord): void {
    this.#report.parts.logger.debug(
      { ...this.#fields(record), reason: record.reason },
      'a fault could not act',
    )
  }

  canaryReturned(call: Call): void {
    const { rule: _, fault: __, ...fields } = this.#fields({ rule: '', fault: '', call })
    this.#report.parts.watched.canaryReturned(toolOf(call))
    this.#report.parts.logger.warn(fields, 'a message contains the canary of a poisoned result')
  }

  falseValueUsed(call: Call, { by, hint, isBlocked, isUnread }: FalseUse): void {
    const { rule, fault, tool: of } = by
    const fields = { ...this.#fields({ rule, fault, call }), of: cutText(of, MAX_TEXT), hint }
    if (isUnread === true) {
      this.#report.parts.logger.warn(fields, 'blocked: too many numbers to check for a false value')
      return
    }
    this.#report.parts.watched.usedFalse(toolOf(call), hint)
    const what = isBlocked ? 'blocked: an argument contains' : 'an argument contains'
    this.#report.parts.logger.warn(fields, `${what} a value that a fault falsified`)
  }

  failed(ref: FaultRef, error: unknown): void {
    const fields = { ...this.#fields(ref), err: shownError(error) }
    this.#report.parts.logger.error(
      fields,
      'internal error in a fault; the call was forwarded without it',
    )
  }

  #fields({ rule, fault, call }: FaultRef): RefFields {
    const tool = toolOf(call)
    return {
      rule,
      fault,
      tool: tool === undefined ? undefined : cutText(tool, MAX_TEXT),
      method:
        call === undefined || call.method === TOOL_CALL
          ? undefined
          : cutText(call.method, MAX_TEXT),
      id: this.#report.ids.id(call?.id),
      session: this.#report.ids.session(this.#session),
    }
  }
}

const MAX_FRAMES = 8
const MAX_NAME = 64

/**
 * Returns the parts of an error that the log may contain, its frames innermost first. Leaves the
 * message out: parsers quote their input there, which is a client's arguments or an upstream's
 * results.
 */
export function shownError(error: unknown) {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, message, stack } = error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  // The stack begins with the message, whose lines may look like frames.
  const head = `${name}: ${message}`
  const isUsual = stack?.startsWith(head) === true
  const lines = isUsual ? stack.slice(head.length).split('\n') : []
  const frames = lines.map((line) => line.trim()).filter((line) => line.startsWith('at '))
  return {
    type: name.slice(0, MAX_NAME),
    ...(code === undefined ? {} : { code: code.slice(0, MAX_NAME) }),
    ...(frames.length === 0 ? {} : { frames: frames.slice(0, MAX_FRAMES) }),
  }
}

/** An injected fault as in the log and on the admin port, without secrets and long texts. */
export interface InjectedFaultEntry {
  readonly rule: string
  readonly fault: string
  /** The tool of a `tools/call`. */
  readonly tool: string | undefined
  /** The method of another call. */
  readonly method: string | undefined
  readonly id: string | number | undefined
  /** The start of a hash, which distinguishes sessions and reveals none. */
  readonly session: string | undefined
  readonly effect: string | undefined
  readonly delayMs: number | undefined
}

/** An entry with its time, in milliseconds since the epoch. */
export interface RecentFault {
  readonly at: number
  readonly entry: InjectedFaultEntry
}

const CAPACITY = 200

/** Keeps the last injected faults, and counts all. */
export class RecentFaults {
  /** A ring; the oldest is at `total` modulo the capacity, once the ring is full. */
  readonly #kept: RecentFault[] = []
  readonly #capacity: number
  #total = 0

  constructor(capacity = CAPACITY) {
    this.#capacity = capacity
  }

  /** The number of injected faults, with those dropped from the list. */
  get total(): number {
    return this.#total
  }

  add(fault: RecentFault): void {
    this.#kept[this.#total++ % this.#capacity] = fault
  }

  /** Returns the kept faults, newest first. */
  list(): readonly RecentFault[] {
    const oldest = this.#total % this.#capacity
    return [...this.#kept.slice(oldest), ...this.#kept.slice(0, oldest)].toReversed()
  }
}
