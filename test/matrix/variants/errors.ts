import type { Variant } from '../variant.ts'

/** Errors in place of responses. */
export const ERRORS: readonly Variant[] = [
  {
    fault: 'abort',
    config: '{ status: 500 }',
    real: 'status 500',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'modern-json', 'modern-sse'],
        says: { v1: 'StreamableHTTPError 500', v2: 'SdkHttpError 500', auto: 'SdkHttpError 500' },
        counted: 'http_error/injected',
      },
      {
        in: ['push'],
        says: 'Error',
        counted: 'http_error/injected',
        why: 'The SDKs throw a plain `Error` here, with the status in its text.',
      },
    ],
  },
  {
    fault: 'abort',
    config: '{ status: 503, body: "<h1>503</h1>", headers: { content-type: text/html } }',
    real: 'status 503',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'modern-json', 'modern-sse'],
        says: { v1: 'StreamableHTTPError 503', v2: 'SdkHttpError 503', auto: 'SdkHttpError 503' },
        counted: 'http_error/injected',
      },
      {
        in: ['push'],
        says: 'Error',
        counted: 'http_error/injected',
        why: 'The SDKs throw a plain `Error` here, with the status in its text.',
      },
    ],
  },
  {
    fault: 'abort',
    config: '{ status: 404 }',
    real: 'status 404',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'modern-json', 'modern-sse'],
        says: { v1: 'StreamableHTTPError 404', v2: 'SdkHttpError 404', auto: 'SdkHttpError 404' },
        counted: 'http_error/injected',
      },
      {
        in: ['push'],
        says: 'Error',
        counted: 'http_error/injected',
        why: 'The SDKs throw a plain `Error` here, with the status in its text.',
      },
    ],
  },
  {
    fault: 'abort',
    config: '{ status: 400 }',
    real: 'status 400',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'modern-json', 'modern-sse'],
        says: { v1: 'StreamableHTTPError 400', v2: 'SdkHttpError 400', auto: 'SdkHttpError 400' },
        counted: 'http_error/injected',
      },
      {
        in: ['push'],
        says: 'Error',
        counted: 'http_error/injected',
        why: 'The SDKs throw a plain `Error` here, with the status in its text.',
      },
    ],
  },
  {
    fault: 'abort',
    config: '{ status: 202, body: "" }',
    real: 'status 202',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'modern-json', 'modern-sse'],
        says: 'timeout',
        counted: 'incomplete/injected',
      },
      {
        in: ['push'],
        says: 'timeout',
        counted: 'timeout/injected',
        why: 'A 202 is what every call is answered with here.',
      },
    ],
  },
  {
    fault: 'abort',
    config: '{ status: 503, at: response }',
    real: 'status 503 afterwards',
    rows: [
      {
        in: ['json', 'modern-json'],
        says: { v1: 'StreamableHTTPError 503', v2: 'SdkHttpError 503', auto: 'SdkHttpError 503' },
        ran: 1,
        counted: 'http_error/injected',
      },
      {
        in: ['sse', 'resumable', 'push', 'modern-sse'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
        rule: 'not_applicable',
        why: 'The status of a stream is out before the response is there.',
      },
    ],
  },
  {
    fault: 'abort',
    config: '{ rpcError: { code: -32603, message: db-7 is gone } }',
    real: 'rpc error',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: { v1: 'McpError -32603', v2: 'ProtocolError -32603', auto: 'ProtocolError -32603' },
        counted: 'rpc_error/injected',
      },
    ],
  },
  {
    fault: 'abort',
    config: '{ rpcError: { code: -32603 }, at: response }',
    real: 'rpc error',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: { v1: 'McpError -32603', v2: 'ProtocolError -32603', auto: 'ProtocolError -32603' },
        ran: 1,
        counted: 'rpc_error/injected',
      },
    ],
  },
  {
    fault: 'abort',
    config: '{ toolError: db-7 is gone }',
    real: 'tool error',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'tool error',
        counted: 'tool_error/injected',
      },
    ],
  },
  {
    fault: 'abort',
    config: '{ toolError: db-7 is gone, at: response }',
    real: 'tool error',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'tool error',
        ran: 1,
        counted: 'tool_error/injected',
      },
    ],
  },
  {
    fault: 'rateLimit',
    config: '{}',
    real: 'status 429',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'modern-json', 'modern-sse'],
        says: { v1: 'StreamableHTTPError 429', v2: 'SdkHttpError 429', auto: 'SdkHttpError 429' },
        counted: 'http_error/injected',
      },
      {
        in: ['push'],
        says: 'Error',
        counted: 'http_error/injected',
        why: 'The SDKs throw a plain `Error` here, with the status in its text.',
      },
    ],
  },
  {
    fault: 'rateLimit',
    config: '{ as: rpc }',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push'],
        says: { v1: 'McpError -32029', v2: 'ProtocolError -32029', auto: 'ProtocolError -32029' },
        counted: 'rpc_error/injected',
      },
      {
        in: ['modern-json', 'modern-sse'],
        says: 'ProtocolError 429',
        counted: 'rpc_error/injected',
        why: 'The protocol version keeps -32029 for itself.',
      },
    ],
  },
  {
    fault: 'rateLimit',
    config: '{ limit: { calls: 1, per: 1m } }',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'push', 'modern-json', 'modern-sse'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
        rule: 'within_limit',
        why: 'The call is within the limit.',
      },
    ],
  },
  {
    fault: 'unauthorized',
    config: '{}',
    real: 'status 401',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'modern-json', 'modern-sse'],
        says: { v1: 'StreamableHTTPError 401', v2: 'SdkHttpError 401', auto: 'SdkHttpError 401' },
        counted: 'http_error/injected',
      },
      {
        in: ['push'],
        says: 'Error',
        counted: 'http_error/injected',
        why: 'The SDKs throw a plain `Error` here, with the status in its text.',
      },
    ],
  },
  {
    fault: 'unauthorized',
    config: '{ status: 403, scope: "files:write" }',
    real: 'status 403',
    rows: [
      {
        in: ['json', 'sse', 'resumable', 'modern-json', 'modern-sse'],
        says: {
          v1: 'StreamableHTTPError 403',
          v2: 'InsufficientScopeError',
          auto: 'InsufficientScopeError',
        },
        counted: 'http_error/injected',
      },
      {
        in: ['push'],
        says: 'Error',
        counted: 'http_error/injected',
        why: 'The SDKs throw a plain `Error` here, with the status in its text.',
      },
    ],
  },
  {
    fault: 'session',
    config: '{}',
    real: 'session forgotten',
    rows: [
      {
        in: ['json', 'sse', 'resumable'],
        says: { v1: 'StreamableHTTPError 404', v2: 'SdkHttpError 404', auto: 'SdkHttpError 404' },
        counted: 'http_error/injected',
        next: { v1: 'StreamableHTTPError 404', v2: 'SdkHttpError 404', auto: 'SdkHttpError 404' },
        why: 'The session stays lost; no SDK initialises again by itself.',
      },
      {
        in: ['push'],
        says: 'Error',
        counted: 'http_error/injected',
        next: 'Error',
        why: 'The session stays lost; the SDKs throw a plain `Error` here, with the status in its text.',
      },
      {
        in: ['modern-json', 'modern-sse'],
        says: 'ok',
        ran: 1,
        counted: 'ok/real',
        rule: 'not_applicable',
        why: 'The protocol version has no sessions.',
      },
    ],
  },
]
