import { describe, expect, it } from 'vitest'
import { fieldsOf, textsOf } from '../../../../src/base/values.ts'
import { parseCommandLine } from '../../../../test/support/commands/command-line.ts'
import { injectPod } from '../../src/injector/inject-pod.ts'
import type { Injection, InjectionContext } from '../../src/injector/injection.ts'
import type { Container, Pod } from '../../src/injector/pod.ts'
import { parseInjectorSettings } from '../../src/injector/parse-settings.ts'
import { contextOf, podOf, prefixed, uninjected } from './contexts.ts'

type Injected = Extract<Injection, { kind: 'injected' }>

function inject(pod: Pod, context: InjectionContext = contextOf()): Injected {
  const injection = injectPod(pod, context)
  if (injection.kind === 'injected') return injection
  throw new Error(`${injection.reason}: ${injection.message}`)
}

function containerOf({ pod }: Injected, name: string): Container {
  const all = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])]
  const found = all.find((each) => each.name === name)
  if (found === undefined) throw new Error(`there is no container ${name}`)
  return found
}

function envOf(injected: Injected): Readonly<Record<string, string | undefined>> {
  const env = containerOf(injected, 'squall').env ?? []
  return Object.fromEntries(
    env.map(({ name, value, valueFrom }) => {
      return [name, value ?? textsOf(fieldsOf(valueFrom)['fieldRef'])['fieldPath']]
    }),
  )
}

const restricted = { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } }
const native = { minor: 33 }
const plain = { minor: 30 }

describe('the mode', () => {
  it('is redirect where nothing stands against it', () => {
    expect(inject(podOf())).toMatchObject({
      mode: 'redirect',
      why: 'auto: redirect is possible',
    })
  })

  it.each([
    ['the namespace enforces Pod Security', {}, contextOf({ namespace: restricted }), /restricted/],
    [
      'the pod has a mesh',
      { initContainers: [{ name: 'istio-proxy', restartPolicy: 'Always' }] },
      contextOf(),
      /Istio's container istio-proxy/,
    ],
    [
      'a mesh will come',
      {},
      contextOf({ namespace: { labels: { 'istio-injection': 'enabled' } } }),
      /Istio injects/,
    ],
    [
      'Linkerd will come',
      {},
      contextOf({ namespace: { annotations: { 'linkerd.io/inject': 'enabled' } } }),
      /Linkerd/,
    ],
  ])('is port where %s', (_, spec, context, why) => {
    const { mode, why: said } = inject(podOf({}, spec), context)
    expect(mode).toBe('port')
    expect(said).toMatch(why)
  })

  it('is not kept from redirect by Pod Security that only warns', () => {
    const labels = { 'pod-security.kubernetes.io/warn': 'restricted' }
    expect(inject(podOf(), contextOf({ namespace: { labels } })).mode).toBe('redirect')
  })
})

describe('the ports', () => {
  it('take listeners that nothing in the pod uses', () => {
    const containers = [
      { name: 'app', ports: [{ containerPort: 15300 }, { containerPort: 3000 }] },
      { name: 'other', ports: [{ containerPort: 15301 }] },
    ]
    const injected = inject(podOf({ ports: '15300,3000' }, { containers }))
    const args = containerOf(injected, 'squall-redirect').args ?? []
    expect(args.slice(1, 5)).toEqual(['--port', '15300=15302', '--port', '3000=15303'])
  })

  it('are the one that is named, of the container that is named', () => {
    const containers = [
      { name: 'app', ports: [{ name: 'http', containerPort: 8080 }] },
      { name: 'web', ports: [{ name: 'http', containerPort: 9090 }] },
    ]
    const injected = inject(podOf({ ports: 'http', container: 'web' }, { containers }))
    expect(containerOf(injected, 'squall-redirect').args).toContain('9090=15300')
  })

  it('may be ones that nothing declares, by number', () => {
    const injected = inject(podOf({ ports: '7000' }, { containers: [{ name: 'app' }] }))
    expect(containerOf(injected, 'squall-redirect').args).toContain('7000=15300')
  })
})

describe('the sidecar', () => {
  it('gets annotations as they are written, without variables of Kubernetes', () => {
    const injected = inject(podOf({ 'exclude-paths': '/$$x', 'deny-tools': '$(POD_IP)' }))
    const { args } = containerOf(injected, 'squall')
    expect(args).toEqual(expect.arrayContaining(['/$$$$x', '$$(POD_IP)']))
  })

  it.each(['redirect', 'port', 'bind'])(
    'in mode %s is started in a way that squall run takes',
    (mode) => {
      const annotations = {
        mode,
        environment: 'staging',
        'max-percent': '12.5%',
        'max-duration': '10m',
        'max-active': '3',
        'allow-faults': 'delay, abort',
        'deny-tools': 'pay_*,delete_order',
        'guard-error-rate': 'off',
        'guard-window': '1m',
        'rollback-on': 'real-errors>1% for 30s, not-ready for 10s',
        'exclude-paths': '/admin/*, /b',
        'log-level': 'warn',
        'log-injections': 'sample',
        'call-log': '-',
        'compat-api': 'chaos-monkey',
        tasks: 'false',
        'trust-markers': 'true',
        'otlp-endpoint': 'http://collector.observability:4318',
        'otel-env': 'OTEL_TRACES_SAMPLER=always_on\nOTEL_SERVICE_NAME=shop-$(POD)',
        'trace-injected': 'true',
        'trace-url': 'https://tracing.example.com/trace/{trace}',
      }
      const injected = inject(podOf(annotations))
      const args = (containerOf(injected, 'squall').args ?? []).map((arg) =>
        arg.replace('$(POD_IP)', '10.1.2.3'),
      )
      const env = { ...envOf(injected), SQUALL_POD: 'tools-0' }
      const upstreamHost = 'SQUALL_UPSTREAM_HOST' in env ? { SQUALL_UPSTREAM_HOST: '10.1.2.3' } : {}
      const asked = parseCommandLine(args, { ...env, ...upstreamHost }, '1.2.3')
      expect(asked).toMatchObject({
        kind: 'command',
        name: 'run',
        request: {
          compatApi: { tools: {} },
          tasks: undefined,
          trustMarkers: true,
          traceUrl: 'https://tracing.example.com/trace/{trace}',
          tracing: {
            spans: {
              url: 'http://collector.observability:4318/v1/traces',
              followsParent: false,
              injected: true,
            },
          },
        },
      })
      // Kubernetes replaces no variable in a value.
      expect(envOf(injected)['OTEL_SERVICE_NAME']).toBe('shop-$$(POD)')
      expect(containerOf(injected, 'squall').env).toContainEqual({
        name: 'OTEL_EXPORTER_OTLP_HEADERS',
        valueFrom: { secretKeyRef: { name: 'squall-admin', key: 'otlp-headers', optional: true } },
      })
      expect(args).toContain('--tasks=false')
      const hook = parseCommandLine(['pre-stop'], env, '1.2.3')
      expect(hook).toMatchObject({
        request: { socketPath: '/run/squall/control.sock', waitMs: 20_000 },
      })
      const wait = parseCommandLine(['wait-ready'], env, '1.2.3')
      expect(wait).toMatchObject({ request: { admin: { port: 15390 } } })
    },
  )

  it('has the conditions of settings, namespace and pod together, which none of them loosens', () => {
    const defaults = { 'rollback-on': 'real-errors>1% for 30s', 'max-percent': '30%' }
    const settings = parseInjectorSettings({ defaults }, '1.2.3')
    const above = { 'rollback-on': 'not-ready for 10s', 'max-percent': '20%' }
    const context = contextOf({ settings, namespace: { annotations: prefixed(above) } })
    const own = { 'rollback-on': 'real-errors>90% for 1h', 'max-percent': '10%' }
    const args = containerOf(inject(podOf(own), context), 'squall').args ?? []
    expect(args[args.indexOf('--rollback-on') + 1]).toBe(
      'real-errors>1% for 30s,not-ready for 10s,real-errors>90% for 1h',
    )
    expect(args[args.indexOf('--max-percent') + 1]).toBe('10%')
  })

  it('redirects in a way that squall redirect takes', () => {
    const injected = inject(podOf({ 'upstream-host': '127.0.0.1' }))
    const { args = [] } = containerOf(injected, 'squall-redirect')
    const asked = parseCommandLine(args, {}, '1.2.3')
    expect(asked).toMatchObject({
      name: 'redirect',
      request: { plan: { redirects: [{ from: 3000, to: 15300 }], exemptUid: 65532 } },
    })
  })

  it('reaches the upstream by the address of the pod, which no rule redirects', () => {
    const injected = inject(podOf())
    expect(envOf(injected)['SQUALL_UPSTREAM_HOST']).toBe('status.podIP')
    expect(containerOf(injected, 'squall-redirect').args).not.toContain('--exempt-uid')
  })

  it('has one capability for redirecting, and none for the rest of its life', () => {
    const injected = inject(podOf())
    expect(containerOf(injected, 'squall-redirect').securityContext).toMatchObject({
      runAsUser: 0,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] },
    })
    const { securityContext } = containerOf(injected, 'squall')
    expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65532 })
    expect(securityContext).toHaveProperty('capabilities', { drop: ['ALL'] })
  })

  it('is not given the token of the account of the pod', () => {
    const injected = inject(podOf())
    for (const name of ['squall', 'squall-redirect']) {
      const paths = containerOf(injected, name).volumeMounts?.map(({ mountPath }) => mountPath)
      expect(paths).toContain('/var/run/secrets/kubernetes.io/serviceaccount')
    }
  })

  it('keeps its heap within its memory', () => {
    expect(envOf(inject(podOf({ 'memory-limit': '1Gi' })))['NODE_OPTIONS']).toBe(
      '--max-old-space-size=614 --max-semi-space-size=2',
    )
  })

  it('is done before the pod is killed, however short its grace', () => {
    for (const grace of [0, 1, 5, 30, 600]) {
      const injected = inject(podOf({}, { terminationGracePeriodSeconds: grace }))
      const { args = [] } = containerOf(injected, 'squall')
      const drain = Number.parseInt(args[args.indexOf('--drain-timeout') + 1] ?? '', 10)
      const wait = Number.parseInt(envOf(injected)['SQUALL_STOP_WAIT'] ?? '', 10)
      expect(wait + drain).toBeLessThanOrEqual(grace)
    }
  })

  it.each([
    [28, '20s'],
    [33, '0s'],
  ])('of Kubernetes 1.%i waits %s for a pod without a server to end', (minor, wait) => {
    const calling = podOf({ outbound: 'db:5432' }, { containers: [{ name: 'agent' }] })
    expect(envOf(inject(calling, contextOf({ minor })))['SQUALL_STOP_WAIT']).toBe(wait)
  })

  it('reads one key of a ConfigMap, beside the stop key', () => {
    const { pod } = inject(podOf({ rules: 'chaos', 'rules-key': 'shop.yaml' }))
    expect(pod.spec?.volumes?.[0]).toEqual({
      name: 'squall-rules',
      configMap: {
        name: 'chaos',
        optional: true,
        items: [
          { key: 'shop.yaml', path: 'shop.yaml' },
          { key: 'squall-stop', path: 'squall-stop' },
        ],
      },
    })
  })
})

describe('the life of the sidecar', () => {
  it('is that of a native one where the cluster has them', () => {
    const { pod } = inject(podOf(), contextOf(native))
    expect(pod.spec?.initContainers?.map(({ name }) => name)).toEqual(['squall-redirect', 'squall'])
    expect(pod.spec?.initContainers?.at(-1)?.restartPolicy).toBe('Always')
    expect(pod.spec?.containers?.map(({ name }) => name)).toEqual(['app'])
  })

  it('is that of a first container elsewhere, which the others wait for', () => {
    const injected = inject(podOf(), contextOf(plain))
    expect(injected.pod.spec?.containers?.map(({ name }) => name)).toEqual(['squall', 'app'])
    expect(containerOf(injected, 'squall').lifecycle?.postStart?.exec?.command).toEqual([
      'squall',
      'wait-ready',
    ])
    expect(injected.pod.metadata?.annotations).toMatchObject({
      'kubectl.kubernetes.io/default-container': 'app',
    })
  })

  it('is that of a plain one in mode port before 1.33, with a word about it', () => {
    const injected = inject(podOf({ mode: 'port', 'native-sidecar': 'true' }), contextOf(plain))
    expect(injected.pod.spec?.containers?.[0]?.name).toBe('squall')
    expect(injected.warnings.join()).toMatch(/a plain container is used/)
  })

  it('lets a job end', () => {
    const { pod } = inject(
      podOf({ 'native-sidecar': 'true' }),
      contextOf({ owner: 'Job', ...plain }),
    )
    expect(pod.spec?.containers?.map(({ name }) => name)).toEqual(['app'])
  })

  it('warns of a pod that would end and does not', () => {
    const { warnings } = inject(
      podOf({}, { restartPolicy: 'Never' }),
      contextOf({ owner: 'Pod', ...plain }),
    )
    expect(warnings.join()).toMatch(/never completes/)
  })
})

describe('what comes first', () => {
  it('is the word of the pod, then of the namespace, then of the settings', () => {
    const { settings } = contextOf()
    const context = contextOf({
      settings: {
        ...settings,
        defaults: { 'log-injections': 'all', 'log-level': 'warn', rules: 'all' },
      },
      namespace: {
        annotations: { 'squall.dev/log-injections': 'off', 'squall.dev/rules': 'team' },
      },
    })
    const injected = inject(podOf({ 'log-injections': 'sample' }), context)
    const args = containerOf(injected, 'squall').args?.join(' ')
    expect(args).toContain('--log-injections sample')
    expect(args).toContain('--log-level warn')
    expect(injected.pod.spec?.volumes?.[0]?.configMap).toMatchObject({ name: 'team' })
  })
})

describe('the label', () => {
  const label = { 'squall.dev/sidecar': 'injected' }

  it.each([undefined, null, {}, { app: 'shop' }])(
    'is added to %o, and removed with the sidecar',
    (labels) => {
      const before = podOf()
      const pod = { ...before, metadata: { ...before.metadata, labels } } as Pod
      const injected = inject(pod)
      expect(injected.pod.metadata?.labels).toEqual({ ...labels, ...label })
      expect(inject(injected.pod).pod).toEqual(injected.pod)
      expect(uninjected(injected.pod).metadata?.labels).toEqual(labels)
    },
  )
})
