import type { Variant } from '../variant.ts'

/** Responses with other content, and repeated calls. */
export const CONTENT: readonly Variant[] = [
  {
    fault: 'corrupt',
    config: '{}',
    real: 'garbage',
    rows: [
      { in: ['json', 'modern-json'], says: 'SyntaxError', ran: 1, counted: 'incomplete/injected' },
      { in: ['sse', 'modern-sse'], says: 'timeout', ran: 1, counted: 'incomplete/injected' },
      { in: ['resumable', 'push'], says: 'timeout', ran: 1, counted: 'timeout/injected' },
    ],
  },
  {
    fault: 'corrupt',
    config: '{ mode: html }',
    real: 'html page',
    rows: [
      {
        in: ['json', 'modern-json'],
        says: {
          v1: 'StreamableHTTPError -1',
          v2: 'SdkError CLIENT_HTTP_UNEXPECTED_CONTENT',
          auto: 'SdkError CLIENT_HTTP_UNEXPECTED_CONTENT',
        },
        ran: 1,
        counted: 'incomplete/injected',
      },
      { in: ['sse', 'modern-sse'], says: 'timeout', ran: 1, counted: 'incomplete/injected' },
      { in: ['resumable', 'push'], says: 'timeout', ran: 1, counted: 'timeout/injected' },
    ],
  },
  {
    fault: 'corrupt',
    config: '{ mode: empty }',
    real: 'empty',
    rows: [
      { in: ['json', 'modern-json'], says: 'SyntaxError', ran: 1, counted: 'incomplete/injected' },
      { in: ['sse', 'modern-sse'], says: 'timeout', ran: 1, counted: 'incomplete/injected' },
      { in: ['resumable', 'push'], says: 'timeout', ran: 1, counted: 'timeout/injected' },
    ],
  },
  {
    fault: 'corrupt',
    config: '{ mode: invalid-utf8 }',
    real: 'not utf-8',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'ok (changed)',
        ran: 1,
        counted: 'ok/injected',
        why: 'The SDKs put U+FFFD in place of such bytes.',
      },
    ],
  },
  {
    fault: 'corrupt',
    config: '{ contentType: text/plain }',
    real: 'wrong type',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'modern-json', 'modern-sse'],
        says: {
          v1: 'StreamableHTTPError -1',
          v2: 'SdkError CLIENT_HTTP_UNEXPECTED_CONTENT',
          auto: 'SdkError CLIENT_HTTP_UNEXPECTED_CONTENT',
        },
        ran: 1,
        counted: 'incomplete/injected',
      },
      { in: ['push'], says: 'timeout', ran: 1, counted: 'timeout/injected', real: 'garbage' },
    ],
  },
  {
    fault: 'rewrite',
    config: '{ retype: { /temperature: string } }',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'ok (changed)',
        ran: 1,
        counted: 'ok/real',
      },
    ],
  },
  {
    fault: 'rewrite',
    config: '{ retype: { /temperature: string } }',
    before: 'list',
    real: 'number as text',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: { v1: 'McpError -32602', v2: 'ProtocolError -32602', auto: 'ProtocolError -32602' },
        ran: 1,
        counted: 'ok/real',
      },
    ],
  },
  {
    fault: 'rewrite',
    config: '{ remove: /temperature }',
    before: 'list',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: { v1: 'McpError -32602', v2: 'ProtocolError -32602', auto: 'ProtocolError -32602' },
        ran: 1,
        counted: 'ok/real',
      },
    ],
  },
  {
    fault: 'rewrite',
    config: '{ text: { append: " and nothing else" } }',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'ok (changed)',
        ran: 1,
        counted: 'ok/real',
      },
    ],
  },
  {
    fault: 'poison',
    config: '{ preset: instructions }',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'ok (changed)',
        ran: 1,
        counted: 'ok/real',
      },
    ],
  },
  ...['{ to: 1MiB }', '{ to: 64KiB, with: "All work and no play. " }'].map((config): Variant => ({
    fault: 'inflate',
    config,
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'ok (changed)',
        ran: 1,
        counted: 'ok/real',
      },
    ],
  })),
  {
    fault: 'rewrite',
    config: '{ in: message, nullify: /result }',
    rows: [
      { in: ['json', 'modern-json'], says: 'ZodError', ran: 1, counted: 'ok/real' },
      {
        in: ['sse', 'resumable', 'push', 'modern-sse'],
        says: 'timeout',
        ran: 1,
        counted: 'ok/real',
      },
    ],
  },
  {
    fault: 'rewrite',
    config: '{ in: arguments, set: { /n: 9 } }',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'ok (changed)',
        ran: 1,
        counted: 'ok/injected',
      },
    ],
  },
  {
    fault: 'catalog',
    config: '{ hide: "*" }',
    method: 'tools/list',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'ok (changed)',
        counted: '–',
      },
    ],
  },
  {
    fault: 'catalog',
    config: '{ add: [{ name: ghost }] }',
    method: 'tools/list',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'ok (changed)',
        counted: '–',
      },
    ],
  },
  {
    fault: 'catalog',
    config: '{ cursor: invalid }',
    method: 'tools/list',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: { v1: 'ok', v2: 'ProtocolError -32602', auto: 'ProtocolError -32602' },
        counted: '–',
        why: 'v1 asks for one page, v2 for all of them.',
      },
    ],
  },
  {
    fault: 'catalog',
    config: '{ notify: spurious }',
    method: 'tools/list',
    rows: [
      {
        in: ['json', 'modern-json'],
        says: 'ok',
        counted: '–',
        rule: 'not_applicable',
        why: 'A body has no events.',
      },
      { in: ['sse', 'resumable', 'push', 'modern-sse'], says: 'ok', counted: '–' },
    ],
  },
  {
    fault: 'replay',
    config: '{ by: all }',
    before: 'call',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'ok (changed)',
        ran: 2,
        counted: 'ok/real ×2',
        rule: 'injected, within_limit',
        why: 'The first such call passes unchanged: there is nothing older yet.',
      },
    ],
  },
  {
    fault: 'amplify',
    config: '{ copies: 2 }',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'modern-json', 'modern-sse'],
        says: 'ok',
        ran: 3,
        counted: 'ok/real',
      },
      {
        in: ['push'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
        rule: 'not_applicable',
        why: 'The responses to copies would reach the client.',
      },
    ],
  },
]
