/** Why a fault could not act, by the word for it in logs, and in a sentence. */
export const NOT_APPLICABLE = {
  nothing_to_act_on: 'there is nothing that it acts on',
  inexact_id: "a reply could not carry the call's id exactly",
  shared_exchange: 'it would hit the other calls of the batch',
  shared_stream: "it would hit everything else that comes by the session's stream",
  no_push_stream: 'the response goes by another connection, and none is open',
  answered_elsewhere: 'the call is answered on another connection than its own',
  head_sent: 'the status is on its way when it has its turn',
  too_large: 'the response, or one event of it, is too large to hold',
  too_slow: 'the response comes too slowly to be held until it is whole',
  too_complex: 'the response has more values than are read, or nests them too deeply',
  memory: 'too much is held in memory for all calls together',
  unreadable: 'the coding or the text of the request or the response cannot be read',
  already_sent: 'the app has the call already, so that it cannot be changed or repeated',
  call_not_sent: "another fault, or the client's leaving, kept the call from the app",
  no_caller:
    'nothing in the request says who the caller is, and nobody gets what another was answered',
  not_kept: 'the server forbids to keep the response',
  session_over: 'the session of the call has ended',
  failed: 'the fault failed by itself',
} as const

/** Why a fault could not act. */
export type NotApplicableReason = keyof typeof NOT_APPLICABLE
