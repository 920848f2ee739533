import type { FaultName } from '../../src/filters/index.ts'
import type { RealFailureName } from './real-failures.ts'
import type { ClientId, SettingId } from './settings.ts'

/** Describes the client's reports, the execution by the server, and the counted outcome. */
export interface Observed {
  /** The client's report of the call. */
  readonly says: string
  /** The number of executions by the server. */
  readonly ran: number
  /** `outcome/origin` of the call. */
  readonly counted: string
  /** The result of the rule for the call: `injected`, `not_applicable`, `within_limit`. */
  readonly rule: string
  /** The client's report of a further call, which no rule matches. */
  readonly next: string
}

/** The expectations for some settings. */
export interface Row {
  readonly in: readonly SettingId[]
  /** For all clients, or for each. */
  readonly says: string | Readonly<Partial<Record<ClientId, string>>>
  readonly ran?: number | Readonly<Partial<Record<ClientId, number>>>
  readonly counted: string | Readonly<Partial<Record<ClientId, string>>>
  /** `injected` unless given. */
  readonly rule?: string
  /** `ok` unless given. */
  readonly next?: string | Readonly<Partial<Record<ClientId, string>>>
  /** The real failure in these settings, if it differs from that of the variant. */
  readonly real?: RealFailureName
  /** The explanation of the result, if it needs one. */
  readonly why?: string
}

/** One way to use a fault, and what is expected of it everywhere. */
export interface Variant {
  readonly fault: FaultName
  /** The parameters, as they are written in a rules file. */
  readonly config: string
  /** The method of the request; by default a call of a tool. */
  readonly method?: 'tools/list'
  /** The client's step before: list the tools, or make a call that the rule matches as well. */
  readonly before?: 'list' | 'call'
  /** The real failure that the fault imitates. */
  readonly real?: RealFailureName
  readonly rows: readonly Row[]
}

/** Returns the expectations for one client in one setting; undefined if there are none. */
export function expectedOf(
  { rows }: Variant,
  setting: SettingId,
  client: ClientId,
): Observed | undefined {
  const row = rows.find((one) => one.in.includes(setting))
  if (row === undefined) return undefined
  const { says, ran = 0, counted, rule = 'injected', next = 'ok' } = row
  return {
    says: pick(says, client) ?? '',
    ran: pick(ran, client) ?? 0,
    counted: pick(counted, client) ?? '',
    rule,
    next: pick(next, client) ?? 'ok',
  }
}

/**
 * Returns the verdicts that Squall gives on a client that does what its SDK does: no SDK repeats
 * these calls, so that the client goes on, or calls the next tool after an error.
 */
export function verdictsOn(
  { fault, method, config }: Variant,
  { says, counted, rule }: Observed,
  listsAfterResult: boolean,
): readonly string[] {
  const isDecided = method === undefined && rule.startsWith('injected') && counted !== 'open'
  // A second copy follows when the call has ended.
  if (!isDecided || config === '{ duplicate: last }') return []
  if (counted.startsWith('ok/')) return ['continued']
  if (says.startsWith('ok')) {
    // The client took the response of another id, and the call stays open until its stream ends.
    if (counted.startsWith('abandoned/')) return ['gave_up']
    if (listsAfterResult) return ['relisted']
  }
  // Before the client leaves the stream, it makes the next call and lists the tools.
  if (listsAfterResult && counted.startsWith('abandoned/') && fault === 'corrupt') {
    return ['ambiguous']
  }
  return [says.startsWith('client dies') ? 'gave_up' : 'switched_tool']
}

/** Returns the real failure that a fault imitates in a setting; undefined if there is none. */
export function realOf(variant: Variant, setting: SettingId): RealFailureName | undefined {
  return variant.rows.find((row) => row.in.includes(setting))?.real ?? variant.real
}

/** A name for a variant, which no other one has. */
export function titleOf({ fault, config, before }: Variant): string {
  return `${fault}: ${config}${before === undefined ? '' : `, behind a ${before}`}`
}

function pick<T extends string | number>(
  value: T | Readonly<Partial<Record<ClientId, T>>>,
  client: ClientId,
): T | undefined {
  return typeof value === 'object' ? value[client] : value
}
