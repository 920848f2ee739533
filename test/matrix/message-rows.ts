/** The messages that rules of the matrix match. */
const PROGRESS = 'match: { direction: server, method: notifications/progress }'
const ELICIT = 'match: { direction: server, method: elicitation/create }'
const ELICITED = 'match: { method: elicitation/create }'

const ERROR = 'abort: { rpcError: { code: -32000, message: declined } }'

/** Reports of the clients of SDK v1 and v2 for a fault on a message that is no call. */
export interface MessageRow {
  readonly fault: string
  readonly match: string
  readonly reports: 'no progress' | 'a result with isError' | 'a time-out' | 'two requests'
}

export const MESSAGE_ROWS: readonly MessageRow[] = [
  { fault: 'stream: { drop: all }', match: PROGRESS, reports: 'no progress' },
  { fault: 'hang: {}', match: PROGRESS, reports: 'no progress' },
  { fault: ERROR, match: ELICIT, reports: 'a result with isError' },
  { fault: 'hang: {}', match: ELICIT, reports: 'a time-out' },
  { fault: 'stream: { duplicate: all }', match: ELICIT, reports: 'two requests' },
  { fault: ERROR, match: ELICITED, reports: 'a result with isError' },
  { fault: 'stream: { drop: all }', match: ELICITED, reports: 'a time-out' },
]
