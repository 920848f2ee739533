import type { RefusalReason } from './telemetry.ts'

/** Counts of refusals, before the first. */
export function noneRefused(): Record<RefusalReason, number> {
  return {
    upstream_unreachable: 0,
    upstream_protocol: 0,
    upstream_misconfigured: 0,
    overload: 0,
    ambiguous_request: 0,
    bad_request: 0,
    internal_error: 0,
    slow_client: 0,
  }
}
