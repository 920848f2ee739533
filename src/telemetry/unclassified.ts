import type { UnclassifiedReason } from './telemetry.ts'

/** Returns a count of zero for each reason. */
export function noneUnclassified(): Record<UnclassifiedReason, number> {
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
