import { expect, test } from 'vitest'
import { UsageError } from '../../src/base/flags/usage-error.ts'
import type { RunOptions } from '../../src/sidecar/run-options.ts'
import { asked } from '../support/commands/command-line.ts'

const options = (args: string): RunOptions => asked(['run', ...args.split(' ')]) as RunOptions

function complaint(args: string): string {
  try {
    options(args)
  } catch (error) {
    if (error instanceof UsageError) return error.message
    throw error
  }
  return 'accepted'
}

test('a sidecar for dependencies alone serves no MCP server', () => {
  const { pairs, outbound } = options('--outbound 127.0.0.1:15432=db:5432')
  expect(pairs).toEqual([])
  expect(outbound).toMatchObject([
    {
      listen: { kind: 'tcp', host: '127.0.0.1', port: 15432 },
      targets: [{ text: 'db:5432', host: 'db', port: 5432 }],
      isCaptured: false,
    },
  ])
  const both = options('--listen :1 --upstream http://a --outbound :2=https://api.example.com')
  expect(both.pairs).toMatchObject([
    { upstream: { host: 'a' } },
    { upstream: { host: 'api.example.com', tls: true, port: 443 }, isOutbound: true },
  ])
})

test('captured targets of one port share a listener', () => {
  const { outbound } = options(
    '--captured 15301=db:5432 --captured 15301=10.0.0.0/8:5432 --captured 15302=[fd00::/8]:6379 --captured 15303=*:53',
  )
  expect(outbound.map(({ targets }) => targets.map(({ host, port }) => `${host} ${port}`))).toEqual(
    [['db 5432', '10.0.0.0/8 5432'], ['fd00::/8 6379'], ['* 53']],
  )
  const [{ targets } = outbound[0]!] = options('--captured 15304=http://tools:8080').outbound
  expect(targets).toMatchObject([{ host: 'tools', port: 8080, isHttp: true }])
  expect(outbound[0]!.targets[1]!.range!.has('10.2.3.4')).toBe(true)
  expect(outbound[0]!.targets[1]!.range!.has('11.2.3.4')).toBe(false)
})

test.each([
  ['--outbound db:5432', 'must specify a listener and a target'],
  ['--outbound 127.0.0.1:1=db', 'invalid dependency'],
  ['--outbound 127.0.0.1:1=10.0.0.0/8:5432', 'must be a single host'],
  ['--outbound 127.0.0.1:1=*:5432', 'must be a single host'],
  ['--outbound 127.0.0.1:1=10.0.0.0/99:5432', 'invalid dependency'],
  ['--outbound 127.0.0.1:1=https://user:secret@a', 'the URL contains a user name or password'],
  ['--outbound 127.0.0.1:5432=127.0.0.1:5432', 'is the address of --outbound'],
  ['--outbound :15390=db:1', 'is already used by --admin'],
  ['--captured 15301=http://10.0.0.0/8:80', 'invalid dependency'],
  ['--captured 15301=https://a:443', 'invalid dependency'],
  ['--captured x=db:5432', 'invalid port "x"'],
  [
    '--captured 15301=db:5432 --captured 15301=db:5433',
    'receives connections to the ports 5432 and 5433',
  ],
  ['--captured 15301=db:5432 --captured 15301=db:5432', 'duplicate target'],
  ['--captured 15301=a:80 --captured 15301=http://a:80', 'duplicate target'],
  ['--outbound 127.0.0.1:1=db:2 --outbound-ca ca.pem', '--outbound-ca has no effect'],
])('%s is rejected: %s', (args, wrong) => {
  expect(complaint(args)).toContain(wrong)
})
