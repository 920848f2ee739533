import { describe, expect, it } from 'vitest'
import type { Verdict } from '../../src/filters/fault.ts'
import { challenge } from '../../src/http/bearer-challenge.ts'
import { unauthorized } from '../../src/filters/unauthorized.ts'
import { Context } from './context.ts'
import { findings, parameters } from './fault-text.ts'

type Config = Parameters<typeof unauthorized.create>[0]

/** Status, header and parsed body of the response. */
function response(config: Partial<Config>, headers = { authorization: 'Bearer x' } as object) {
  const ctx = new Context({ headers: { ...headers } })
  const fault = unauthorized.create({ status: 401, realm: 'mcp', ...config })
  const verdict = fault.onRequest!(ctx) as Verdict
  expect(ctx.effects).toBe(1)
  if (verdict.kind !== 'respond' || verdict.reply.kind !== 'http') throw new Error(verdict.kind)
  const { reply } = verdict
  expect(reply.headers['Content-Type']).toBe('application/json')
  return [reply.status, reply.headers['WWW-Authenticate'], JSON.parse(reply.body!)]
}

describe('unauthorized', () => {
  it('says that the token expired', () => {
    const description = 'The access token expired'
    expect(response({})).toEqual([
      401,
      `Bearer realm="mcp", error="invalid_token", error_description="${description}"`,
      { error: 'invalid_token', error_description: description },
    ])
  })

  it('shows a client without a token no more than that one is needed', () => {
    const [, header, body] = response({}, {})
    expect(header).toBe('Bearer realm="mcp"')
    expect(body).toEqual({
      error: 'unauthorized',
      error_description: 'An access token is required',
    })
    expect(response({ error: 'invalid_request' }, {})[1]).toContain('error="invalid_request"')
  })

  it('says which scope is missing, and where to ask for it', () => {
    const resourceMetadata = 'https://a.example/.well-known/oauth-protected-resource'
    const [status, header] = response({ status: 403, scope: 'a:read b', resourceMetadata })
    expect(status).toBe(403)
    expect(header).toContain('error="insufficient_scope", error_description="')
    expect(header).toContain(`, scope="a:read b", resource_metadata="${resourceMetadata}"`)
  })

  it('quotes what a realm may hold', () => {
    const [, header] = response({ realm: String.raw`a "b" \c` }, {})
    expect(header).toBe(String.raw`Bearer realm="a \"b\" \\c"`)
    expect(challenge({ a: '', b: undefined })).toBe('Bearer a=""')
  })
})

describe('unauthorized in a file', () => {
  it.each([
    ['{}', { status: 401, realm: 'mcp' }],
    ['{ status: 403, scope: "a b" }', { status: 403, scope: 'a b' }],
    ['{ error: invalid_request, realm: r }', { error: 'invalid_request', realm: 'r' }],
    ['{ resourceMetadata: "https://a.example/b?c" }', {}],
  ])('%s is read', (text, config) => {
    expect(parameters('unauthorized', text)).toMatchObject(config)
  })

  it.each([
    ['{ status: 402 }', '3:42 invalid_value .status'],
    ['{ error: expired }', '3:41 invalid_value .error'],
    ['{ scope: "a  b" }', '3:34 conflict .scope'],
    [String.raw`{ scope: 'a"b' }`, '3:34 conflict .scope'],
    [String.raw`{ realm: "a\r\nSet-Cookie: b" }`, '3:34 conflict .realm'],
    ['{ realm: "é" }', '3:34 conflict .realm'],
    ['{ resourceMetadata: /.well-known }', '3:34 conflict .resourceMetadata'],
    ['{ resourceMetadata: "javascript:1" }', '3:34 conflict .resourceMetadata'],
    [String.raw`{ resourceMetadata: 'https://a/"b' }`, '3:34 conflict .resourceMetadata'],
    ['{ resourceMetadata: "https://" }', '3:34 conflict .resourceMetadata'],
    ['{ scopes: a }', '3:34 unknown_key .scopes'],
  ])('%s is refused', (text, place) => {
    expect(findings('unauthorized', text)).toEqual([place])
  })
})
