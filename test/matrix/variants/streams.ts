import type { Variant } from '../variant.ts'

/** Damage to streams. */
export const STREAMS: readonly Variant[] = [
  {
    fault: 'stream',
    config: '{ close: last }',
    real: 'stream ends',
    rows: [
      {
        in: ['json', 'modern-json'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
        rule: 'not_applicable',
        why: 'A body has no events.',
      },
      { in: ['sse', 'modern-sse'], says: 'timeout', ran: 1, counted: 'incomplete/injected' },
      {
        in: ['resumable'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
        why: 'The client resumes the stream and gets the response.',
      },
      {
        in: ['push'],
        says: 'timeout',
        ran: 1,
        counted: 'timeout/injected',
        real: 'answer missing',
        why: 'The stream carries the responses to other calls too: it stays open, and what answers this one is missing.',
      },
    ],
  },
  {
    fault: 'stream',
    config: '{ drop: last }',
    real: 'answer missing',
    rows: [
      {
        in: ['json', 'modern-json'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
        rule: 'not_applicable',
        why: 'A body has no events.',
      },
      { in: ['sse', 'modern-sse'], says: 'timeout', ran: 1, counted: 'incomplete/injected' },
      {
        in: ['resumable'],
        says: 'timeout',
        ran: 1,
        counted: 'timeout/injected',
        real: 'tool never ends',
        why: 'Neither does it arrive when the client resumes the stream.',
      },
      { in: ['push'], says: 'timeout', ran: 1, counted: 'timeout/injected' },
    ],
  },
  {
    fault: 'stream',
    config: '{ drop: notifications }',
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
    fault: 'stream',
    config: '{ duplicate: last }',
    real: 'answer twice',
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
        says: 'ok, and complains',
        ran: 1,
        counted: 'ok/real',
      },
    ],
  },
  {
    fault: 'stream',
    config: '{ wrongId: other }',
    real: 'wrong id',
    rows: [
      {
        in: ['json', 'sse', 'modern-json', 'modern-sse'],
        says: 'timeout',
        ran: 1,
        counted: 'incomplete/injected',
      },
      { in: ['resumable', 'push'], says: 'timeout', ran: 1, counted: 'timeout/injected' },
    ],
  },
  {
    fault: 'stream',
    config: '{ wrongId: type }',
    real: 'text id',
    rows: [
      {
        in: ['json', 'sse', 'modern-json', 'modern-sse'],
        says: 'ok',
        ran: 1,
        counted: 'incomplete/injected',
        why: 'The SDKs take a text of digits for the number; Squall tells the two apart.',
      },
      {
        in: ['resumable'],
        says: 'ok',
        ran: 1,
        counted: 'open',
        why: 'The SDKs take a text of digits for the number; Squall tells the two apart.',
      },
      {
        in: ['push'],
        says: 'ok',
        ran: 1,
        counted: 'abandoned/injected',
        why: 'The SDKs take a text of digits for the number; Squall tells the two apart.',
      },
    ],
  },
  {
    fault: 'stream',
    config: '{ reorder: last }',
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
    fault: 'stream',
    config: '{ split: all, pause: 5ms }',
    rows: [
      {
        in: ['json', 'modern-json'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
        rule: 'not_applicable',
        why: 'A body has no events.',
      },
      { in: ['sse', 'resumable', 'modern-sse'], says: 'ok', ran: 1, counted: 'ok/real' },
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
]
