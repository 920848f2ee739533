/** The messages that rules of the matrix match. */
const PROGRESS = 'match: { direction: server, method: notifications/progress }'
const ELICIT = 'match: { direction: server, method: elicitation/create }'
const ELICITED = 'match: { method: elicitation/create }'

const SAMPLE = 'match: { direction: server, method: sampling/createMessage }'
const INITIALIZE = 'match: { method: initialize }'
const PROMPT = 'match: { method: prompts/get }'
const RESOURCE = 'match: { method: resources/read }'

const ERROR = 'abort: { rpcError: { code: -32000, message: declined } }'

/** Reports of the clients of SDK v1 and v2 for a fault on a message that is no call. */
export interface MessageRow {
  readonly fault: string
  readonly match: string
  readonly reports:
    | 'no progress'
    | 'the first progress'
    | 'progress twice'
    | 'progress 51 times'
    | 'a result with isError'
    | 'a time-out'
    | 'two requests'
    | 'an unknown protocol version'
    | 'a server without tools'
    | 'another text'
}

export const MESSAGE_ROWS: readonly MessageRow[] = [
  { fault: 'stream: { drop: all }', match: PROGRESS, reports: 'no progress' },
  { fault: 'hang: {}', match: PROGRESS, reports: 'no progress' },
  {
    fault: 'hang: { at: event, after: { events: 1 } }',
    match: PROGRESS,
    reports: 'the first progress',
  },
  { fault: 'stream: { duplicate: all }', match: PROGRESS, reports: 'progress twice' },
  { fault: 'amplify: { copies: 1 }', match: PROGRESS, reports: 'progress twice' },
  { fault: 'amplify: { copies: 50 }', match: PROGRESS, reports: 'progress 51 times' },
  // Behind the result, progress is of no use.
  { fault: 'delay: { fixed: 10s }', match: PROGRESS, reports: 'no progress' },
  { fault: ERROR, match: ELICIT, reports: 'a result with isError' },
  { fault: 'hang: {}', match: ELICIT, reports: 'a time-out' },
  { fault: 'stream: { duplicate: all }', match: ELICIT, reports: 'two requests' },
  { fault: ERROR, match: SAMPLE, reports: 'a result with isError' },
  { fault: ERROR, match: ELICITED, reports: 'a result with isError' },
  { fault: 'stream: { drop: all }', match: ELICITED, reports: 'a time-out' },
  {
    fault: 'rewrite: { in: message, set: { /result/protocolVersion: "1999-01-01" } }',
    match: INITIALIZE,
    reports: 'an unknown protocol version',
  },
  {
    fault: 'rewrite: { in: message, remove: /result/capabilities/tools }',
    match: INITIALIZE,
    reports: 'a server without tools',
  },
  { fault: 'rewrite: { text: { append: canary } }', match: PROMPT, reports: 'another text' },
  { fault: 'poison: { text: canary }', match: RESOURCE, reports: 'another text' },
]
