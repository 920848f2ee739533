// The label values that are shown before anything has been counted; types are made from them.

export const NO_UNCLASSIFIED = {
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

export const NO_REJECTIONS = {
  upstream_unreachable: 0,
  upstream_protocol: 0,
  /** Diagnosed after failures: the upstream speaks TLS, or listens on loopback only. */
  upstream_misconfigured: 0,
  overload: 0,
  ambiguous_request: 0,
  bad_request: 0,
  internal_error: 0,
  slow_client: 0,
}

export const NO_GAUGES = {
  client_connections: 0,
  upstream_connections: 0,
  request_streams: 0,
  push_streams: 0,
  tunnels: 0,
  sessions: 0,
  in_flight_calls: 0,
}

export const NO_GUARD_TRIPS = {
  error_rate: 0,
  real_errors: 0,
  upstream_latency: 0,
  call_rate: 0,
  not_ready: 0,
}

export const NO_EVICTIONS = {
  sessions: 0,
  in_flight_calls: 0,
  endpoints: 0,
  redirects: 0,
  tasks: 0,
}

export const NO_RELOADS = { applied: 0, rejected: 0, absent: 0 }
