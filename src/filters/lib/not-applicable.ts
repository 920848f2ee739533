/** Why a fault could not act, by the word for it in logs, and in a sentence. */
export const NOT_APPLICABLE = {
  nothing_to_act_on: 'nothing for the fault to act on',
  no_response: 'a notification has no response',
  inexact_id: "a response could not reproduce the call's ID exactly",
  shared_exchange: 'the fault would also affect the other calls of the batch',
  shared_stream: "the fault would also affect the other messages on the session's stream",
  no_push_stream: 'the response is sent on another connection, and no such connection is open',
  responded_elsewhere: 'the response to the call is sent on another connection',
  headers_sent: 'the status was sent before the fault could act',
  no_http: 'stdio has neither an HTTP status nor a connection to reset',
  no_port: 'Squall has no open TCP port to close',
  no_process: 'Squall runs the MCP server only on stdio',
  too_large: 'the response, or one of its events, is too large to buffer',
  too_slow: 'the response is too slow to buffer until it is complete',
  too_complex: 'the response has too many values or is too deeply nested',
  memory: 'the memory limit for in-flight messages is reached',
  unreadable: 'the request or response cannot be decoded',
  already_sent:
    'the upstream has already received the call, so the call cannot be changed or repeated',
  call_not_sent:
    'another fault stopped the call, or the client disconnected, before the upstream received the call',
  no_caller:
    'the request does not identify the caller, so Squall cannot safely replay a stored response',
  no_plausible_change: 'the response contains no value that can be falsified plausibly',
  not_followed:
    'the false value cannot be tracked: it has already occurred in the task, or the task has too many values',
  not_kept: 'the server forbids caching the response with `no-store` or `Vary: *`',
  session_over: 'the session of the call has ended',
  failed: 'the fault failed with an internal error',
} as const

export type NotApplicableReason = keyof typeof NOT_APPLICABLE
