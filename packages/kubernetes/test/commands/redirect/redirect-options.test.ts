import { describe, expect, test } from 'vitest'
import type { RedirectRequest } from '../../../src/commands/redirect.ts'
import { askedBy } from '../../../../../test/support/commands/command-line.ts'
import { UsageError } from '../../../../../src/base/flags/usage-error.ts'

const parse = (flags: Readonly<Record<string, string | readonly string[]>>, env = {}) =>
  askedBy('redirect', flags, env) as RedirectRequest

test('ports, and what else there is', () => {
  const port = ['3000=15300', '80=15301']
  expect(parse({ port, 'exempt-uid': '0', 'dry-run': 'true', nft: '/usr/sbin/nft' })).toEqual({
    plan: {
      redirects: [
        { from: 3000, to: 15300 },
        { from: 80, to: 15301 },
      ],
      exemptUid: 0,
    },
    dryRun: true,
    nft: '/usr/sbin/nft',
  })
})

test('the environment stands for the command line', () => {
  const env = { SQUALL_PORT: '3000=15300, 80=15301', SQUALL_EXEMPT_UID: '65532' }
  expect(parse({}, env).plan).toEqual({
    redirects: [
      { from: 3000, to: 15300 },
      { from: 80, to: 15301 },
    ],
    exemptUid: 65532,
  })
})

test('to undo needs no ports', () => {
  expect(parse({ undo: 'true' })).toEqual({ plan: 'undo', dryRun: false, nft: 'nft' })
  expect(parse({ undo: 'true', port: '3000=15300' }).plan).toBe('undo')
  expect(parse({ release: 'true' }).plan).toBe('release')
})

describe('refused', () => {
  test.each([
    [{}, '--port is missing; add it'],
    [{ port: '3000' }, 'is not a valid redirect'],
    [{ port: '3000=15300=1' }, 'is not a valid redirect'],
    [{ port: '0=15300' }, 'is not a valid redirect'],
    [{ port: '3000=65536' }, 'is not a valid redirect'],
    [{ port: '3000=15300; flush ruleset' }, 'is not a valid redirect'],
    [{ port: '3000=3000' }, 'redirects a port to itself'],
    [{ port: ['3000=15300', '3000=15301'] }, 'duplicate port 3000'],
    [{ port: ['3000=15300', '3001=15300'] }, 'port 15300 is used for two captured ports'],
    [{ port: ['3000=15300', '15300=15301'] }, 'uses a port of another redirect'],
    [{ port: ['15300=15301', '3000=15300'] }, 'uses a port of another redirect'],
    [{ port: '15390=15300' }, '15390 is the admin port'],
    [{ port: '3000=15390' }, '15390 is the admin port'],
    [{ port: '9000=15300', admin: ':9000' }, '9000 is the admin port'],
    [{ port: '3000=15300', 'exempt-uid': '4294967295' }, 'exempt-uid'],
    [{ port: '3000=15300', nft: '-h' }, 'is not a program'],
    [{ port: Array.from({ length: 65 }, (_, n) => `${3000 + n}=${15_300 + n}`) }, 'at most 64'],
  ])('%j: %s', (flags, wrong) => {
    expect(() => parse(flags)).toThrow(wrong)
    expect(() => parse(flags)).toThrow(UsageError)
  })

  test('not the port of an admin port that there is not', () => {
    expect(parse({ port: '15390=15300', admin: 'off' }).plan).toMatchObject({
      redirects: [{ from: 15390 }],
    })
  })
})
