import type {
  GaugeName,
  GuardReason,
  RejectionReason,
  Telemetry,
  UnclassifiedReason,
} from './telemetry.ts'

/** The name of a bounded table. */
export type TableName = Parameters<Telemetry['evicted']>[0]

/** Returns a zero for each reason of an unclassified request. */
export function zeroUnclassified(): Record<UnclassifiedReason, number> {
  return {
    too_large: 0,
    not_json: 0,
    not_json_rpc: 0,
    encoding: 0,
    too_many_messages: 0,
    too_complex: 0,
    memory: 0,
    duplicate_key: 0,
    key_variant: 0,
    unclear_name: 0,
    not_utf8: 0,
    header_mismatch: 0,
    charset: 0,
    content_type: 0,
    repeated_header: 0,
    http_method: 0,
    internal_error: 0,
  }
}

/** Returns a zero for each reason of a rejection. */
export function zeroRejections(): Record<RejectionReason, number> {
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

/** Returns a zero for each gauge. */
export function zeroGauges(): Record<GaugeName, number> {
  return {
    client_connections: 0,
    upstream_connections: 0,
    request_streams: 0,
    push_streams: 0,
    tunnels: 0,
    sessions: 0,
    in_flight_calls: 0,
  }
}

/** Returns a zero for each reason of a trip. */
export function zeroGuardTrips(): Record<GuardReason, number> {
  return { error_rate: 0, real_errors: 0, upstream_latency: 0, call_rate: 0, not_ready: 0 }
}

/** Returns a zero for each bounded table. */
export function zeroEvictions(): Record<TableName, number> {
  return { sessions: 0, in_flight_calls: 0, endpoints: 0, redirects: 0, tasks: 0 }
}
