import { hash } from 'node:crypto'
import type { JsonRpcId } from '../../mcp/call.ts'
import type { LogIds, Logger } from '../../telemetry/log.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type {
  FaultListener,
  FaultPlace,
  InjectedRecord,
  NotApplicableRecord,
} from './fault-events.ts'
import type { InjectedFaultEntry, RecentFaults } from './recent-faults.ts'
import { shownError } from './emit/shown-error.ts'

/** Where it is told what faults did. */
export interface FaultReportParts {
  readonly telemetry: Pick<Telemetry, 'injected'>
  readonly logger: Logger
  /** What a rule is called in metrics. */
  readonly ruleLabel: (rule: string) => string
  readonly recent: RecentFaults
  /** Clients choose their ids: some have secrets or names of people in them. */
  readonly ids?: LogIds
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

type CallPlace = Omit<InjectedFaultEntry, 'effect' | 'delayMs'>

const TOOL_CALL = 'tools/call'
const MAX_ID = 64
const MAX_TEXT = 128
const HASH_DIGITS = 8

/**
 * Tells metrics and the log what faults do. A fault that takes effect on a call is one line and one
 * more in `squall_faults_injected_total`, however often it acts on that call, so that both agree; no
 * line is left out under load. Nothing that a client or an app wrote goes into the log, but for tool
 * names, methods and ids, cut short; ids can be hashed, or left out.
 */
export class FaultReport {
  readonly #parts: FaultReportParts

  constructor(parts: FaultReportParts) {
    this.#parts = parts
  }

  /** The listener of one exchange; its session's id is hashed and never shown. */
  of(session: string | undefined, trace?: string): FaultListener {
    return new ExchangeReport(this.#parts, session, trace)
  }
}

class ExchangeReport implements FaultListener {
  readonly #parts: FaultReportParts
  readonly #session: string | undefined
  readonly #trace: string | undefined
  #sessionHash: string | undefined

  constructor(parts: FaultReportParts, session: string | undefined, trace: string | undefined) {
    this.#parts = parts
    this.#session = session === '' ? undefined : session
    this.#trace = trace
  }

  injected(record: InjectedRecord): void {
    const { telemetry, logger, ruleLabel, recent, now } = this.#parts
    const { rule, fault, call, first, effect } = record
    // A wait without end has no place among durations.
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
      ...this.#place(record),
      effect: effect === undefined ? undefined : cut(effect, MAX_TEXT),
      delayMs: delayMs === undefined ? undefined : Math.round(delayMs * 1000) / 1000,
    }
    recent.add({ at: now(), entry })
    logger.info(entry, 'fault injected')
  }

  notApplicable(record: NotApplicableRecord): void {
    this.#parts.logger.debug(
      { ...this.#place(record), reason: record.reason },
      'a fault could not act',
    )
  }

  broke(place: FaultPlace, error: unknown): void {
    const fields = { ...this.#place(place), err: shownError(error) }
    this.#parts.logger.error(fields, 'a fault failed by itself; the call passed without it')
  }

  #place({ rule, fault, call }: FaultPlace): CallPlace {
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

/** Short, and whole characters only; through bytes, so that no long parent string is kept alive. */
function cut(text: string, most: number): string {
  return Buffer.from(text.slice(0, most), 'utf8').toString('utf8')
}
