import { expect, it } from 'vitest'
import { redactText } from '../../src/telemetry/redact.ts'
import { Secrets } from './secrets.ts'

it.each([
  ['no access: Authorization: Bearer abc.def', 'no access: Authorization: [redacted]'],
  ['cookie: a=b; c=d\nnext', 'cookie: [redacted]\nnext'],
  ['{"api_key": "x 1","ok":"y"}', '{"api_key": [redacted],"ok":"y"}'],
  ["secret: 'a b c' and more", 'secret: [redacted] and more'],
  ['x-api-key=1234&page=2', 'x-api-key=[redacted]&page=2'],
  ['bearer abc is wrong', 'bearer [redacted] is wrong'],
  ['postgres://user:pass@db/x failed', 'postgres://[redacted]@db/x failed'],
  ['key sk-proj-abcdefghijkl is revoked', 'key [redacted] is revoked'],
  ['id 9f86d081884c7d659a2feaa0', 'id [redacted]'],
  ['id 123456789012345678901234', 'id [redacted]'],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', '[redacted]'],
  ['-----BEGIN RSA PRIVATE KEY-----\nMIIE\n', '[redacted]'],
])('hides the secret in %j', (text, shown) => {
  expect(redactText(text)).toBe(shown)
})

it.each([
  'connection to db-7 lost',
  'Unexpected token < in JSON at position 0',
  'password is required',
  'late by 1764237600123456789 ns',
  'no row 550e8400-e29b-41d4-a716-446655440000',
  'tool get_customer_v2_by_email_address failed',
  'getUserByEmailAddressFromDatabase failed',
  'timeout after 30000 ms at 2026-03-01T09:00:00.000Z',
])('leaves %j as it is', (text) => {
  expect(redactText(text)).toBe(text)
})

it('hides whatever looks like a token', () => {
  const secrets = new Secrets()
  const text = Array.from({ length: 200 }, () => `x ${secrets.plant('text')}, `).join('')
  expect(secrets.foundIn(redactText(text))).toEqual([])
})

it('takes a time that is linear in the length of a hostile text', () => {
  for (const part of [
    'a',
    'a-',
    'token',
    'token: ',
    'cookie: ',
    '//',
    'bearer ',
    'aA1',
    '"',
    'eyJ',
  ]) {
    const startedAt = performance.now()
    redactText(part.repeat(200_000 / part.length))
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  }
})
