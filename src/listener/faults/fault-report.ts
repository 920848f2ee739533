import { hash } from 'node:crypto'
import type { Call, JsonRpcId } from '../../mcp/call.ts'
import type { LogIds, Logger } from '../../telemetry/log.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type {
  FaultListener,
  FaultRef,
  InjectedRecord,
  NotApplicableRecord,
} from './fault-events.ts'
import type { InjectedFaultEntry, RecentFaults } from './recent-faults.ts'
import { shownError } from './emit/shown-error.ts'

/** Configures the report of faults. */
export interface FaultReportOptions {
  readonly telemetry: Pick<Telemetry, 'injected' | 'canaryReturned'>
  readonly logger: Logger
  /** Returns the label of a rule in metrics. */
  readonly ruleLabel: (rule: string) => string
  readonly recent: RecentFaults
  /** The form of logged ids: clients may put secrets or names of people into ids. */
  readonly ids?: LogIds
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

type RefFields = Omit<InjectedFaultEntry, 'effect' | 'delayMs'>

const TOOL_CALL = 'tools/call'
const MAX_ID = 64
const MAX_TEXT = 128
const HASH_DIGITS = 8

/**
 * Reports the effects of faults to metrics and the log. A fault that takes effect on a call is one
 * log line and one count in `squall_faults_injected_total`, however often it acts on that call; no
 * line is dropped under load. Of a client's or app's text the log has only tool names, methods and
 * ids, shortened; ids can be hashed or omitted.
 */
export class FaultReport {
  readonly #parts: FaultReportOptions

  constructor(parts: FaultReportOptions) {
    this.#parts = parts
  }

  /** Creates the listener of one exchange; the session's id is only logged as a hash. */
  of(session: string | undefined, trace?: string): FaultListener {
    return new ExchangeReport(this.#parts, session, trace)
  }
}

class ExchangeReport implements FaultListener {
  readonly #parts: FaultReportOptions
  readonly #session: string | undefined
  readonly #trace: string | undefined
  #sessionHash: string | undefined

  constructor(parts: FaultReportOptions, session: string | undefined, trace: string | undefined) {
    this.#parts = parts
    this.#session = session === '' ? undefined : session
    this.#trace = trace
  }

  injected(record: InjectedRecord): void {
    const { telemetry, logger, ruleLabel, recent, now } = this.#parts
    const { rule, fault, call, first, effect } = record
    // An infinite wait has no duration.
    const delayMs = Number.isFinite(record.delayMs) ? record.delayMs : undefined
    telemetry.injected({
      rule: ruleLabel(rule),
      fault,
      tool: call?.method === TOOL_CALL ? (call.name ?? '') : undefined,
      first,
      delaySeconds: delayMs === undefined ? undefined : delayMs / 1000,
      trace: this.#trace,
    })
    if (!first) return
    const entry: InjectedFaultEntry = {
      ...this.#fields(record),
      effect: effect === undefined ? undefined : cut(effect, MAX_TEXT),
      delayMs: delayMs === undefined ? undefined : Math.round(delayMs * 1000) / 1000,
    }
    recent.add({ at: now(), entry })
    logger.info(entry, 'fault injected')
  }

  notApplicable(record: NotApplicableRecord): void {
    this.#parts.logger.debug(
      { ...this.#fields(record), reason: record.reason },
      'a fault could not act',
    )
  }

  canaryReturned(call: Call): void {
    const { rule: _, fault: __, ...fields } = this.#fields({ rule: '', fault: '', call })
    this.#parts.telemetry.canaryReturned(call.method === TOOL_CALL ? (call.name ?? '') : undefined)
    this.#parts.logger.warn(fields, 'a call contains the canary of a poisoned result')
  }

  failed(ref: FaultRef, error: unknown): void {
    const fields = { ...this.#fields(ref), err: shownError(error) }
    this.#parts.logger.error(fields, 'a fault failed by itself; the call passed without it')
  }

  #fields({ rule, fault, call }: FaultRef): RefFields {
    const isTool = call?.method === TOOL_CALL
    return {
      rule,
      fault,
      tool: isTool ? cut(call.name ?? '', MAX_TEXT) : undefined,
      method: isTool || call === undefined ? undefined : cut(call.method, MAX_TEXT),
      id: call === undefined ? undefined : this.#id(call.id),
      session: this.#hash(),
    }
  }

  #id(id: JsonRpcId): JsonRpcId | undefined {
    const { ids = 'full' } = this.#parts
    if (ids === 'off') return undefined
    if (ids === 'hash') return hashed(String(id))
    return typeof id === 'string' ? cut(id, MAX_ID) : id
  }

  #hash(): string | undefined {
    if (this.#session === undefined) return undefined
    this.#sessionHash ??= hashed(this.#session)
    return this.#sessionHash
  }
}

function hashed(text: string): string {
  return hash('sha256', text, 'hex').slice(0, HASH_DIGITS)
}

/** Shortens a text to whole characters; the copy does not keep a long parent string alive. */
function cut(text: string, most: number): string {
  return Buffer.from(text.slice(0, most), 'utf8').toString('utf8')
}
