import type { Failure } from '../http/transfer.ts'
import type { RejectionReason } from '../telemetry/telemetry.ts'

/** What the client is told when the app gave no response. Resets and closes are passed on as such. */
export interface AppFailure {
  readonly reason: RejectionReason
  readonly status: number
  readonly message: string
}

type Answerable = Omit<AppFailure, 'message'>

const UNREACHABLE: Answerable = { reason: 'upstream_unreachable', status: 502 }

const KINDS: Readonly<Record<Failure['kind'], Answerable>> = {
  connect: UNREACHABLE,
  overload: { reason: 'overload', status: 503 },
  protocol: { reason: 'upstream_protocol', status: 502 },
  reset: UNREACHABLE,
  closed: UNREACHABLE,
}

const TEXTS: Readonly<Partial<Record<RejectionReason, string>>> = {
  upstream_unreachable: 'the app cannot be reached',
  upstream_protocol: 'the app answered with something that is not HTTP',
}

/** Turns a failed transfer into what is said of it. */
export function appFailure({ kind, message }: Failure): AppFailure {
  const { reason, status } = KINDS[kind]
  const text = TEXTS[reason]
  return { reason, status, message: text === undefined ? message : `${text}: ${message}` }
}
