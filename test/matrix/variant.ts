import type { FaultName } from '../../src/filters/index.ts'
import type { RealFailureName } from './real-failures.ts'
import type { ClientId, SettingId } from './settings.ts'

/** What a client reports, what became of the app, and how it is counted. */
export interface Observed {
  /** What the client reports of the call. */
  readonly says: string
  /** How often the app executed it. */
  readonly ran: number
  /** `outcome/origin` of the call. */
  readonly counted: string
  /** What became of the rule's hit: `injected`, `not_applicable`, `within_limit`. */
  readonly rule: string
  /** What the client reports of a further call, which no rule hits. */
  readonly next: string
}

/** What is expected in some settings. */
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
  /** How a server really fails in this way here, where it is another way. */
  readonly real?: RealFailureName
  /** What has to be said about it. */
  readonly why?: string
}

/** One way to use a fault, and what is expected of it everywhere. */
export interface Variant {
  readonly fault: FaultName
  /** The parameters, as they are written in a rules file. */
  readonly config: string
  /** What is called: a tool, unless it is the list of tools. */
  readonly method?: 'tools/list'
  /** What the client does before: lists the tools, or makes a call that the rule hits as well. */
  readonly before?: 'list' | 'call'
  /** How a server really fails in this way. */
  readonly real?: RealFailureName
  readonly rows: readonly Row[]
}

/** What is expected of one client in one setting; undefined where nothing is. */
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

/** How a server really fails as a fault makes it seem; undefined where none would. */
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
