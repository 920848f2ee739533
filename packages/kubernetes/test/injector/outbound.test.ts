import { describe, expect, it } from 'vitest'
import { fieldsOf } from '../../../../src/base/values.ts'
import { injectPod } from '../../src/injector/inject-pod.ts'
import type { InjectionContext } from '../../src/injector/injection.ts'
import type { Container } from '../../src/injector/pod.ts'
import type { RedirectRequest } from '../../src/commands/redirect.ts'
import type { RunOptions } from '../../../../src/sidecar/run-options.ts'
import { asked } from '../../../../test/support/commands/command-line.ts'
import { contextOf, podOf, uninjected } from './contexts.ts'

type Annotations = Readonly<Record<string, string>>

/** The containers that injection adds, by name, and the status. */
function injected(annotations: Annotations, spec = {}, context?: InjectionContext) {
  const before = podOf(annotations, spec)
  const result = injectPod(before, context ?? contextOf())
  if (result.kind !== 'injected') throw new Error(`${result.reason}: ${result.message}`)
  expect(uninjected(result.pod)).toStrictEqual(before)
  const { containers, initContainers } = result.pod.spec ?? {}
  const all = [...(containers ?? []), ...(initContainers ?? [])]
  const status = result.pod.metadata?.annotations?.['squall.dev/status'] ?? ''
  return {
    sidecar: all.find(({ name }) => name === 'squall'),
    init: all.find(({ name }) => name === 'squall-redirect'),
    status: JSON.parse(status) as { ports: object; outbound?: object },
    warnings: result.warnings,
  }
}

const denied = (annotations: Annotations, context = contextOf(), spec = {}) => {
  const result = injectPod(podOf(annotations, spec), context)
  return result.kind === 'injected' ? result.kind : result
}

const capturedBy = (sidecar: Container | undefined): readonly string[] =>
  (sidecar?.args ?? []).filter((_, i, args) => args[i - 1] === '--captured')

/** The listeners that `squall run` reads from the arguments of the sidecar. */
function listeners(sidecar: Container | undefined) {
  const env = { SQUALL_ADMIN: '[::]:15390' }
  const { pairs, outbound } = asked(sidecar?.args ?? [], env) as RunOptions
  return {
    served: pairs.length,
    captured: outbound.map(({ listen, targets, isCaptured }) => ({
      port: listen.kind === 'tcp' && isCaptured ? listen.port : undefined,
      targets: targets.length,
    })),
  }
}

/** The captures that `squall redirect` reads from the arguments of the init container. */
function captures(init: Container | undefined) {
  const { plan } = asked(init?.args ?? []) as RedirectRequest
  if (typeof plan === 'string') throw new Error(plan)
  const { redirects, outbound } = plan
  return {
    redirects,
    group: outbound?.exemptGid,
    captures: (outbound?.captures ?? []).map(
      ({ network, port, to }) => `${network?.text ?? '*'} ${port} ${to}`,
    ),
  }
}

describe('a pod with outbound', () => {
  it('has a listener for each port, and a capture that its targets need', () => {
    const outbound = 'db:5432,10.0.0.0/8:6379, [fd00::/8]:6379,*:443,10.1.0.0/16:443'
    const { sidecar, init, status } = injected({ outbound })
    expect(capturedBy(sidecar)).toEqual([
      '15301=db:5432',
      '15302=10.0.0.0/8:6379',
      '15302=[fd00::/8]:6379',
      '15303=*:443',
      '15303=10.1.0.0/16:443',
    ])
    expect(listeners(sidecar)).toEqual({
      served: 1,
      captured: [
        { port: 15301, targets: 1 },
        { port: 15302, targets: 2 },
        { port: 15303, targets: 2 },
      ],
    })
    expect(captures(init)).toEqual({
      redirects: [{ from: 3000, to: 15300 }],
      group: fieldsOf(sidecar?.securityContext)['runAsGroup'],
      captures: [
        '* 5432 15301',
        '10.0.0.0/8 6379 15302',
        'fd00::/8 6379 15302',
        '* 443 15303',
        '10.1.0.0/16 443 15303',
      ],
    })
    expect(status).toMatchObject({
      ports: { 3000: 15300 },
      outbound: { 'db:5432': 15301, '*:443': 15303 },
    })
  })

  it('has its own group, and no other pod has', () => {
    const { sidecar } = injected({ outbound: 'db:5432' })
    expect(sidecar?.securityContext).toMatchObject({ runAsUser: 65532, runAsGroup: 15390 })
    const without = injected({})
    expect(without.sidecar?.securityContext).toMatchObject({ runAsGroup: 65532 })
    expect(without.status).not.toHaveProperty('outbound')
  })

  it.each(['port', 'bind'])('keeps mode %s, whose ports are not redirected', (mode) => {
    const annotations = { outbound: 'db:5432', mode, 'upstream-host': '127.0.0.1' }
    const { init } = injected(annotations)
    expect(captures(init)).toMatchObject({ redirects: [], captures: ['* 5432 15301'] })
    expect(init?.args).not.toContain('--exempt-uid')
    expect(init?.securityContext).toHaveProperty('capabilities', {
      add: ['NET_ADMIN'],
      drop: ['ALL'],
    })
  })

  it('takes listeners that are no port of the pod or of a destination', () => {
    const containers = [
      { name: 'app', ports: [{ name: 'mcp', containerPort: 3000 }, { containerPort: 15301 }] },
    ]
    const annotations = { ports: 'mcp', outbound: 'a:15300,b:15302,c:3000' }
    const { sidecar, init } = injected(annotations, { containers })
    expect(capturedBy(sidecar)).toEqual(['15304=a:15300', '15305=b:15302', '15306=c:3000'])
    expect(captures(init).redirects).toEqual([{ from: 3000, to: 15303 }])
  })

  it('needs no port of its own', () => {
    const { sidecar, init, status } = injected(
      { outbound: 'db:5432' },
      { containers: [{ name: 'agent' }] },
    )
    expect(captures(init)).toMatchObject({ redirects: [], captures: ['* 5432 15300'] })
    expect(capturedBy(sidecar)).toEqual(['15300=db:5432'])
    expect(listeners(sidecar)).toEqual({ served: 0, captured: [{ port: 15300, targets: 1 }] })
    expect(status).toMatchObject({ ports: {}, outbound: { 'db:5432': 15300 } })
  })

  it('is told of Pod Security that nobody could read', () => {
    const context = contextOf({ namespace: { isKnown: false } })
    const { warnings } = injected({ outbound: 'db:5432', mode: 'port' }, {}, context)
    expect(warnings.join()).toContain('then remove squall.dev/outbound')
  })
})

describe('a destination with http://', () => {
  it('is captured by its port or address, and read by the sidecar', () => {
    const outbound = 'http://tools:8080, http://10.1.2.3:8081'
    const { sidecar, init } = injected({ outbound })
    expect(capturedBy(sidecar)).toEqual(['15301=http://tools:8080', '15302=http://10.1.2.3:8081'])
    expect(listeners(sidecar).captured).toEqual([
      { port: 15301, targets: 1 },
      { port: 15302, targets: 1 },
    ])
    expect(captures(init).captures).toEqual(['* 8080 15301', '10.1.2.3 8081 15302'])
  })
})

describe('a pod is denied with', () => {
  it.each([
    ['db', 'invalid destination "db": write destinations, separated by commas, such as db:5432'],
    ['db:5432,', 'invalid destination ""'],
    ['https://api.example.com', 'invalid destination "https://api.example.com"'],
    ['http://10.0.0.0/8:80', 'invalid destination'],
    ['db:0', 'invalid destination "db:0"'],
    ['db:$(POD_IP)', 'invalid destination'],
    ['localhost:5432', '"localhost:5432" is an address that cannot be captured: remove it'],
    ['127.0.0.1:5432', 'cannot be captured'],
    ['[::1]:5432', 'cannot be captured'],
    ['db:5432, db:5432', 'write "db:5432" once'],
    ['tools:80, http://tools:80', 'write "http://tools:80" once'],
    [Array.from({ length: 33 }, (_, n) => `db:${n + 1}`).join(), 'at most 32'],
  ])('%s', (outbound, message) => {
    expect(denied({ outbound })).toMatchObject({
      reason: 'invalid_value',
      message: expect.stringContaining(message) as string,
    })
  })

  it('the admin port as a destination', () => {
    expect(denied({ outbound: 'db:15390' })).toMatchObject({
      reason: 'reserved_port',
      message: 'port 15390 is the admin port of the sidecar: remove it from squall.dev/outbound',
    })
  })

  it.each(['auto', 'port', 'bind'])('no permission to capture, also in mode %s', (mode) => {
    const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' }
    const context = contextOf({ namespace: { labels } })
    expect(denied({ outbound: 'db:5432', mode }, context)).toMatchObject({
      reason: 'pod_security',
      message:
        'outgoing connections cannot be captured: the namespace enforces the Pod Security level "baseline", which forbids NET_ADMIN: use a namespace with pod-security.kubernetes.io/enforce=privileged, or remove squall.dev/outbound',
    })
    const mesh = contextOf({ namespace: { labels: { 'istio-injection': 'enabled' } } })
    expect(denied({ outbound: 'db:5432', mode }, mesh)).toMatchObject({ reason: 'mesh' })
  })

  it('outbound as a default of a namespace, which would be more than a pod asked for', () => {
    const annotations = { 'squall.dev/outbound': 'db:5432' }
    expect(denied({}, contextOf({ namespace: { annotations } }))).toMatchObject({
      reason: 'unknown_key',
      message: expect.stringContaining('set it on the pod template') as string,
    })
  })
})
