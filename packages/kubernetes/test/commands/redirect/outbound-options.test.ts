import { describe, expect, test } from 'vitest'
import type { RedirectRequest } from '../../../src/commands/redirect.ts'
import { UsageError } from '../../../../../src/base/flags/usage-error.ts'
import { asked, askedBy } from '../../../../../test/support/commands/command-line.ts'
import { startProgram } from '../../../../../test/support/commands.ts'

const parse = (flags: Readonly<Record<string, string | readonly string[]>>, env = {}) =>
  askedBy('redirect', flags, env) as RedirectRequest

test('outgoing connections alone, or beside ports', () => {
  const outbound = ['5432=15301', '10.0.0.0/8:6379=15302', '[fd00::/8]:6379=15302']
  const network = (text: string) => expect.objectContaining({ text }) as unknown
  const captured = {
    captures: [
      { port: 5432, network: undefined, to: 15301 },
      { port: 6379, network: network('10.0.0.0/8'), to: 15302 },
      { port: 6379, network: network('fd00::/8'), to: 15302 },
    ],
    uids: [],
    exemptGid: 15390,
    apiServer: [],
  }
  expect(parse({ outbound }).plan).toEqual({ redirects: [], outbound: captured })
  // Calls to other MCP servers may go to the port of the own one.
  const port = '5432=15300'
  const both = { outbound, port, 'outbound-uid': ['1000', '0'], 'exempt-gid': '7' }
  expect(parse(both).plan).toEqual({
    redirects: [{ from: 5432, to: 15300 }],
    outbound: { ...captured, uids: [1000, 0], exemptGid: 7 },
  })
  const env = { SQUALL_OUTBOUND: outbound.join(', ') }
  expect(asked(['redirect'], env)).toMatchObject({ plan: { outbound: captured } })
})

describe('rejected', () => {
  test.each([
    [{ outbound: '5432' }, 'is not a valid outbound capture; write PORT=LISTENER'],
    [{ outbound: '5432=15301=1' }, 'is not a valid outbound capture'],
    [{ outbound: '0=15301' }, 'is not a valid outbound capture'],
    [{ outbound: '5432=0' }, 'is not a valid outbound capture'],
    [{ outbound: 'fd00::1:5432=15301' }, 'is not a valid outbound capture'],
    [{ outbound: '5432=15301; flush ruleset' }, 'is not a valid outbound capture'],
    [{ outbound: 'db:5432=15301' }, 'write its addresses, or 5432=15301 for the whole port'],
    [{ outbound: '127.0.0.0/8:5432=15301' }, 'cannot be captured; use an explicit route'],
    [{ outbound: '[::1]:5432=15301' }, 'cannot be captured'],
    [{ outbound: '[fe80::1]:5432=15301' }, 'cannot be captured'],
    [{ outbound: '5432=5432' }, 'redirects a port to itself'],
    [{ outbound: ['5432=15301', '5432=15301'] }, 'duplicate target'],
    [{ outbound: ['5432=15301', '5433=15301'] }, 'port 15301 is used for two captured ports'],
    [{ outbound: ['5432=15301', '10.0.0.0/8:5432=15302'] }, 'use 15301 for both'],
    [{ outbound: ['5432=15301', '15301=15302'] }, 'uses a port of another redirect'],
    [{ outbound: '5432=15300', port: '3000=15300' }, 'uses a port of another redirect'],
    [{ outbound: '5432=3000', port: '3000=15300' }, 'uses a port of another redirect'],
    [{ outbound: '15300=15301', port: '3000=15300' }, 'uses a port of another redirect'],
    [{ outbound: '5432=15390' }, 'remove --outbound 5432=15390'],
    [{ outbound: '15390=15301' }, '15390 is the admin port'],
    [{ outbound: Array.from({ length: 65 }, (_, n) => `${n + 1}=${n + 15_001}`) }, 'at most 64'],
    [{ 'outbound-uid': '1000' }, 'requires --outbound; add --outbound'],
    [{ outbound: '5432=15301', 'outbound-uid': '4294967295' }, 'out of range'],
    [{ outbound: '5432=15301', 'exempt-gid': 'root' }, 'is not a valid integer'],
  ])('%j: %s', (flags, wrong) => {
    expect(() => parse(flags)).toThrow(wrong)
    expect(() => parse(flags)).toThrow(UsageError)
  })

  test('a port of the API server that is none', () => {
    const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: 'https' }
    expect(() => parse({ outbound: '5432=15301' }, env)).toThrow('KUBERNETES_SERVICE_PORT: "https"')
  })
})

/** Runs the command in this process, with the variables of a pod. */
async function printed(host: string, ...args: readonly string[]): Promise<string> {
  const env = { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: '6443' }
  const command = ['redirect', '--dry-run', ...args]
  const { code, stdout, stderr } = await startProgram(command, env, { here: true })
  return code === 0 ? stdout : stderr
}

describe('the API server', () => {
  test('is excluded on a captured port, by address and by name', async () => {
    const excluded = '\n    ip daddr 127.0.0.1 tcp dport 6443 return\n'
    expect(await printed('127.0.0.1', '--outbound', '6443=15301')).toContain(excluded)
    expect(await printed('localhost', '--outbound', '6443=15301')).toContain(excluded)
    expect(await printed('127.0.0.1', '--outbound', '5432=15301')).not.toContain('6443')
  })

  test('has an address, where its port is captured', async () => {
    const text = await printed('none.invalid', '--outbound', '6443=15301')
    expect(text).toContain('"none.invalid" is not an address, and cannot be resolved; set it to')
    expect(await printed('none.invalid', '--outbound', '5432=15301')).toContain('dport 5432')
  })
})
