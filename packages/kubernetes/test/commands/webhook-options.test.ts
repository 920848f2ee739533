import { expect, test } from 'vitest'
import type { WebhookRequest } from '../../src/commands/webhook.ts'
import { asked } from '../../../../test/support/commands/command-line.ts'

const OWN = [
  '--tls-secret',
  'tls',
  '--tls-host',
  'squall.chaos.svc',
  '--webhook-configuration',
  'squall',
]

function parsed(...args: string[]): WebhookRequest {
  return asked(['webhook', ...args]) as WebhookRequest
}

test('a directory is all that is needed, and nothing is open to others by default', () => {
  const request = parsed('--tls-dir', '/tls')
  expect(request.tls).toEqual({ kind: 'mounted', directory: '/tls', settleMs: 10_000 })
  expect(request.listen).toEqual({ kind: 'tcp', host: '127.0.0.1', port: 15443 })
  expect(request.admin).toEqual({ kind: 'tcp', host: '127.0.0.1', port: 15391 })
  expect([request.readNamespaces, request.readServices]).toEqual([false, false])
})

test('certificates of its own take lifetimes down to seconds', () => {
  const request = parsed(
    ...OWN,
    '--certificate-lifetime',
    '12s',
    '--rotate-before',
    '6s',
    '--certificate-check',
    '1s',
    '--ca-settle',
    '2s',
    '--ca-lifetime',
    '30s',
    '--tls-host',
    'squall.chaos',
  )
  expect(request.tls).toMatchObject({
    kind: 'managed',
    hosts: ['squall.chaos.svc', 'squall.chaos'],
    servingMs: 12_000,
    rotateBeforeMs: 6_000,
  })
})

test.each([
  ['1.33', 33],
  ['v1.29.4', 29],
  ['1.31+', 31],
  ['v1.33.2-gke.100', 33],
  ['v1.30.1+k3s1', 30],
])('the version %s is understood', (text, minor) => {
  expect(parsed('--tls-dir', 'a', '--kubernetes-version', text).minor).toBe(minor)
})

test.each([
  [['--tls-dir', 'a', '--tls-secret', 'b'], /are mutually exclusive/],
  [['--tls-dir', 'a', '--tls-host', 'b'], /--tls-host has no effect with --tls-dir/],
  [['--tls-secret', 'tls'], /--tls-secret needs --tls-host/],
  [['--tls-secret', 'tls', '--tls-host', 'a'], /needs --webhook-configuration/],
  [[...OWN, '--tls-host', 'not a host'], /is not a valid host name/],
  [[...OWN, '--rotate-before', '2160h'], /must be shorter than --certificate-lifetime/],
  [
    [...OWN, '--certificate-check', '24h', '--rotate-before', '30h'],
    /must be at least --ca-settle plus twice --certificate-check/,
  ],
  [[...OWN, '--ca-lifetime', '2200h'], /at least twice --certificate-lifetime/],
  [['--tls-dir', 'a', '--listen', '127.0.0.1:15391'], /are the same address/],
  [['--tls-dir', 'a', '--kubernetes-version', '2.0'], /not a valid Kubernetes version/],
  [['--tls-dir', 'a', '--max-review', '1KiB'], /out of range/],
  [['--tls-dir', 'a', '--namespace', 'Up/per'], /is not a valid name/],
])('%j is refused', (args, says) => {
  expect(() => parsed(...args)).toThrow(says)
})

test.each([
  [['apply'], /--filename is missing; pass a rules file with -f/],
  [['apply', '-f', 'a', '--key', '../x.yaml'], /not a valid key for rules/],
  [['apply', '-f', 'a', '--key', 'rules'], /write a key that ends in \.yaml, \.yml or \.json/],
  [['apply', '-f', 'a', '--configmap', 'UP'], /is not a valid name/],
  [['apply', '-f', 'a', '--annotation-prefix', 'squall'], /is not a valid prefix/],
  [['apply', '-f', 'a', '--timeout', '0s'], /out of range/],
  [['status', '-A', '-n', 'shop'], /are mutually exclusive/],
])('%j is refused', (args, says) => {
  expect(() => asked(args)).toThrow(says)
})
