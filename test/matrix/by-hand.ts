import type { ByHand } from './variant.ts'

const PLAIN_ERROR = 'The SDKs throw a plain `Error` here, with the status in its text.'
const RESUMED = 'The client resumes the stream and receives the response.'
const NO_REASON =
  'Clients of this protocol version give up by closing the stream, which gives no reason.'
const TEXT_ID = 'The SDKs accept a string of digits as the number; Squall distinguishes the two.'
const HEAD_OUT = 'The headers have already been sent with the first event.'
const HEAD_OUT_RESUMED =
  'The headers have already been sent with the first events; the client resumes the stream and receives the response.'

/**
 * The forms that clients tell apart beside those that act alike: what comes before the call, which
 * real failure the fault imitates, and what explains the reports.
 */
export const BY_HAND: readonly ByHand[] = [
  { form: 'abort: { status: 500 }', real: 'status 500', notes: { push: PLAIN_ERROR } },
  {
    form: 'abort: { status: 503, body: "<h1>503</h1>", headers: { content-type: text/html } }',
    real: 'status 503',
    notes: { push: PLAIN_ERROR },
  },
  { form: 'abort: { status: 404 }', real: 'status 404', notes: { push: PLAIN_ERROR } },
  { form: 'abort: { status: 400 }', real: 'status 400', notes: { push: PLAIN_ERROR } },
  {
    form: 'abort: { status: 202, body: "" }',
    real: 'status 202',
    notes: { push: 'Here, every call is acknowledged with status 202.' },
  },
  { form: 'abort: { status: 503, at: response }', real: 'status 503 afterwards' },
  { form: 'abort: { rpcError: { code: -32603, message: db-7 is gone } }', real: 'rpc error' },
  { form: 'abort: { rpcError: { code: -32603 }, at: response }', real: 'rpc error' },
  { form: 'abort: { toolError: db-7 is gone }', real: 'tool error' },
  { form: 'abort: { toolError: db-7 is gone, at: response }', real: 'tool error' },
  { form: 'rateLimit: {}', real: 'status 429', notes: { push: PLAIN_ERROR } },
  {
    form: 'rateLimit: { as: rpc }',
    notes: {
      'modern-json': 'This protocol version reserves -32029.',
      'modern-sse': 'This protocol version reserves -32029.',
    },
  },
  {
    form: 'rateLimit: { limit: { calls: 1, per: 1m } }',
    notes: { all: 'The call is within the limit.' },
  },
  { form: 'unauthorized: {}', real: 'status 401', notes: { push: PLAIN_ERROR } },
  {
    form: 'unauthorized: { status: 403, scope: "files:write" }',
    real: 'status 403',
    notes: { push: PLAIN_ERROR },
  },
  {
    form: 'session: {}',
    real: 'session forgotten',
    notes: {
      json: 'The session stays lost: no SDK sends `initialize` again by itself.',
      sse: 'The session stays lost: no SDK sends `initialize` again by itself.',
      resumable: 'The session stays lost: no SDK sends `initialize` again by itself.',
      push: 'The session stays lost; the SDKs throw a plain `Error` here, with the status in its text.',
    },
  },
  { form: 'delay: { fixed: 40ms }' },
  { form: 'delay: { fixed: 40ms, at: response }' },
  { form: 'delay: { fixed: 20ms, at: event }' },
  {
    form: 'delay: { fixed: 1h, at: response }',
    real: 'tool never ends',
    notes: { 'modern-json': NO_REASON, 'modern-sse': NO_REASON },
  },
  {
    form: 'hang: {}',
    real: 'silence',
    notes: { 'modern-json': NO_REASON, 'modern-sse': NO_REASON },
  },
  {
    form: 'hang: { at: headers }',
    real: 'silence behind headers',
    notes: { 'modern-json': NO_REASON, 'modern-sse': NO_REASON },
  },
  { form: 'hang: { at: event }', real: 'silence within', notes: { 'modern-sse': NO_REASON } },
  {
    form: 'hang: { at: event, after: { bytes: 20B } }',
    real: 'silence after 20 bytes',
    notes: { 'modern-json': NO_REASON, 'modern-sse': NO_REASON },
  },
  { form: 'throttle: { rate: 8KiB }' },
  { form: 'throttle: { rate: 8KiB, direction: request }' },
  { form: 'process: { exit: 1 }' },
  { form: 'reset: {}', real: 'reset before' },
  { form: 'reset: { how: fin }', real: 'fin before' },
  {
    form: 'reset: { at: response }',
    real: 'reset without headers',
    notes: { sse: HEAD_OUT, 'modern-sse': HEAD_OUT, resumable: HEAD_OUT_RESUMED },
  },
  {
    form: 'reset: { at: response, how: fin }',
    real: 'fin without headers',
    notes: { sse: HEAD_OUT, 'modern-sse': HEAD_OUT, resumable: HEAD_OUT_RESUMED },
  },
  { form: 'reset: { at: stream }', real: 'reset within', notes: { resumable: RESUMED } },
  { form: 'reset: { at: stream, how: fin }', real: 'fin within', notes: { resumable: RESUMED } },
  {
    form: 'reset: { at: stream, after: { bytes: 20B } }',
    real: 'reset after 20 bytes',
    notes: {
      resumable: 'The stream is cut before the first event id, so the client cannot resume it.',
    },
  },
  { form: 'truncate: {}', real: 'half, broken', notes: { resumable: RESUMED } },
  { form: 'truncate: { framing: clean }', real: 'half, clean', notes: { resumable: RESUMED } },
  {
    form: 'truncate: { after: { events: 1 }, framing: clean }',
    real: 'stream ends',
    notes: { resumable: RESUMED },
  },
  { form: 'truncate: { content: { items: 2 } }' },
  { form: 'truncate: { content: { chars: 2 } }' },
  {
    form: 'stream: { close: last }',
    real: 'stream ends',
    reals: { push: 'answer missing' },
    notes: {
      resumable: RESUMED,
      push: 'The stream carries the responses to other calls too: it stays open, and the response to this call is missing.',
    },
  },
  {
    form: 'stream: { drop: last }',
    real: 'answer missing',
    reals: { resumable: 'tool never ends' },
    notes: { resumable: 'Neither does it arrive when the client resumes the stream.' },
  },
  { form: 'stream: { drop: notifications }' },
  { form: 'stream: { duplicate: last }', real: 'answer twice' },
  { form: 'stream: { wrongId: other }', real: 'wrong id' },
  { form: 'stream: { wrongId: type }', real: 'text id', notes: { all: TEXT_ID } },
  { form: 'stream: { reorder: last }' },
  { form: 'stream: { split: all, pause: 5ms }' },
  { form: 'corrupt: {}', real: 'garbage' },
  { form: 'corrupt: { mode: html }', real: 'html page' },
  { form: 'corrupt: { mode: empty }', real: 'empty' },
  {
    form: 'corrupt: { mode: invalid-utf8 }',
    real: 'not utf-8',
    notes: { all: 'The SDKs put U+FFFD in place of such bytes.' },
  },
  { form: 'corrupt: { contentType: text/plain }', real: 'wrong type', reals: { push: 'garbage' } },
  { form: 'rewrite: { retype: { /temperature: string } }' },
  { form: 'rewrite: { retype: { /temperature: string } }', before: 'list', real: 'number as text' },
  { form: 'rewrite: { remove: /temperature }', before: 'list' },
  { form: 'rewrite: { text: { append: " and nothing else" } }' },
  { form: 'poison: { preset: instructions }' },
  { form: 'inflate: { to: 1MiB }' },
  { form: 'inflate: { to: 64KiB, with: "All work and no play. " }' },
  { form: 'rewrite: { in: message, nullify: /result }' },
  { form: 'rewrite: { in: arguments, set: { /n: 9 } }' },
  { form: 'catalog: { hide: "*" }' },
  { form: 'catalog: { add: [{ name: ghost }] }' },
  {
    form: 'catalog: { cursor: invalid }',
    notes: { all: 'v1 asks for one page, v2 for all of them.' },
  },
  { form: 'catalog: { notify: spurious }' },
  {
    form: 'replay: { by: all }',
    before: 'call',
    notes: { all: 'The first such call passes unchanged: there is nothing older yet.' },
  },
  { form: 'amplify: { copies: 2 }' },
]
