import type { TextSpec } from '../match/text-match.ts'
import type { ValueSpec } from '../match/value-match.ts'

/** The conditions of a rule as written, after validation. */
export interface MatchSpec {
  readonly direction?: 'client' | 'server' | undefined
  readonly kind?: 'response' | undefined
  readonly method?: TextSpec | undefined
  readonly tool?: TextSpec | undefined
  readonly prompt?: TextSpec | undefined
  readonly resource?: TextSpec | undefined
  readonly headers?: Readonly<Record<string, ValueSpec>> | undefined
  readonly baggage?: Readonly<Record<string, ValueSpec>> | undefined
  readonly args?: Readonly<Record<string, ValueSpec>> | undefined
  readonly session?: ValueSpec | undefined
  readonly client?: TextSpec | ClientSpec | undefined
  readonly transport?: string | readonly string[] | undefined
  readonly protocolVersion?: string | readonly string[] | undefined
  readonly http?: HttpSpec | undefined
  readonly outbound?: OutboundSpec | undefined
  readonly workload?: TextSpec | undefined
  readonly podLabels?: Readonly<Record<string, string>> | undefined
  readonly any?: readonly MatchSpec[] | undefined
  readonly all?: readonly MatchSpec[] | undefined
  readonly not?: MatchSpec | undefined
}

/** The conditions of a rule on the client. */
export interface ClientSpec {
  readonly name?: TextSpec | undefined
  readonly version?: TextSpec | undefined
}

/** The conditions of a rule on the HTTP exchange. */
export interface HttpSpec {
  readonly method?: TextSpec | undefined
  readonly path?: TextSpec | undefined
  readonly status?: StatusSpec | readonly StatusSpec[] | undefined
}

/** The conditions of a rule on the destination of outgoing traffic. */
export interface OutboundSpec {
  readonly host?: TextSpec | undefined
  readonly port?: number | undefined
  readonly sni?: TextSpec | undefined
  readonly cidr?: string | readonly string[] | undefined
}

/** A status, or a class of them such as `5xx`. */
export type StatusSpec = number | string
