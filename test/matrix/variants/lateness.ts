import type { Variant } from '../variant.ts'

/** Responses that come late, slowly or never. */
export const LATENESS: readonly Variant[] = [
  {
    fault: 'delay',
    config: '{ fixed: 40ms }',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
      },
    ],
  },
  {
    fault: 'delay',
    config: '{ fixed: 40ms, at: response }',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
      },
    ],
  },
  {
    fault: 'delay',
    config: '{ fixed: 20ms, at: event }',
    rows: [
      {
        in: ['json', 'modern-json'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
        rule: 'not_applicable',
        why: 'A body has no events.',
      },
      {
        in: ['sse', 'resumable', 'push', 'modern-sse'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
      },
    ],
  },
  {
    fault: 'delay',
    config: '{ fixed: 1h, at: response }',
    real: 'tool never ends',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push'],
        says: 'timeout',
        ran: 1,
        counted: 'timeout/injected',
      },
      {
        in: ['modern-json', 'modern-sse'],
        says: 'timeout',
        ran: 1,
        counted: 'abandoned/injected',
        why: 'Clients of this protocol version give up by closing the stream, which gives no reason.',
      },
    ],
  },
  {
    fault: 'hang',
    config: '{}',
    real: 'silence',
    rows: [
      { in: ['json', 'sse', 'resumable', 'push'], says: 'timeout', counted: 'timeout/injected' },
      {
        in: ['modern-json', 'modern-sse'],
        says: 'timeout',
        counted: 'abandoned/injected',
        why: 'Clients of this protocol version give up by closing the stream, which gives no reason.',
      },
    ],
  },
  {
    fault: 'hang',
    config: '{ at: headers }',
    real: 'silence behind headers',
    rows: [
      { in: ['json', 'sse', 'resumable'], says: 'timeout', ran: 1, counted: 'timeout/injected' },
      {
        in: ['push'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
        rule: 'not_applicable',
        why: 'The stream carries the responses to other calls too, so it is left alone.',
      },
      {
        in: ['modern-json', 'modern-sse'],
        says: 'timeout',
        ran: 1,
        counted: 'abandoned/injected',
        why: 'Clients of this protocol version give up by closing the stream, which gives no reason.',
      },
    ],
  },
  {
    fault: 'hang',
    config: '{ at: event }',
    real: 'silence within',
    rows: [
      {
        in: ['json', 'modern-json'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
        rule: 'not_applicable',
        why: 'A body has no events. `after: { bytes: … }` acts on it.',
      },
      { in: ['sse', 'resumable'], says: 'timeout', ran: 1, counted: 'timeout/injected' },
      {
        in: ['push'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
        rule: 'not_applicable',
        why: 'The stream carries the responses to other calls too, so it is left alone.',
      },
      {
        in: ['modern-sse'],
        says: 'timeout',
        ran: 1,
        counted: 'abandoned/injected',
        why: 'Clients of this protocol version give up by closing the stream, which gives no reason.',
      },
    ],
  },
  {
    fault: 'hang',
    config: '{ at: event, after: { bytes: 20B } }',
    real: 'silence after 20 bytes',
    rows: [
      { in: ['json', 'sse', 'resumable'], says: 'timeout', ran: 1, counted: 'timeout/injected' },
      {
        in: ['push'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
        rule: 'not_applicable',
        why: 'The stream carries the responses to other calls too, so it is left alone.',
      },
      {
        in: ['modern-json', 'modern-sse'],
        says: 'timeout',
        ran: 1,
        counted: 'abandoned/injected',
        why: 'Clients of this protocol version give up by closing the stream, which gives no reason.',
      },
    ],
  },
  {
    fault: 'throttle',
    config: '{ rate: 8KiB }',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'modern-json', 'modern-sse'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
      },
      {
        in: ['push'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
        rule: 'not_applicable',
        why: 'The stream carries the responses to other calls too, so it is left alone.',
      },
    ],
  },
  {
    fault: 'throttle',
    config: '{ rate: 8KiB, direction: request }',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
      },
    ],
  },
  {
    fault: 'process',
    config: '{ exit: 1 }',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
        rule: 'not_applicable',
        why: 'Over HTTP, Squall does not run the server.',
      },
    ],
  },
]
