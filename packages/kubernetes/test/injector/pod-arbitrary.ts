import * as fc from 'fast-check'
import type { InjectionContext } from '../../src/injector/injection.ts'
import { servicePorts } from '../../src/injector/check-services.ts'
import type { Container, Handler, Pod, Probe } from '../../src/injector/pod.ts'
import { contextOf } from './contexts.ts'

const NUMBERS = [80, 3000, 3001, 8080, 15300, 15301] as const
const NAMES = ['mcp', 'http', 'grpc-main', 'metrics'] as const

const portRef = fc.oneof(
  fc.constantFrom<number | string>(...NUMBERS, ...NAMES),
  fc.constant('3000'),
)

const action: fc.Arbitrary<Handler> = fc.oneof(
  fc
    .record(
      {
        port: portRef,
        path: fc.constantFrom('/healthz', '/a$(POD_IP)b', '/ü?x=1'),
        scheme: fc.constantFrom('HTTP', 'HTTPS'),
        host: fc.constantFrom('', '10.9.8.7'),
        httpHeaders: fc.constant([{ name: 'x-from', value: 'probe' }]),
      },
      { requiredKeys: ['port'] },
    )
    .map((httpGet) => ({ httpGet })),
  fc.record({ port: portRef }).map((tcpSocket) => ({ tcpSocket })),
  fc
    .record(
      { port: fc.constantFrom(...NUMBERS), service: fc.constantFrom('', 'mcp.Tools') },
      { requiredKeys: ['port'] },
    )
    .map((grpc) => ({ grpc })),
  fc.constant({ exec: { command: ['true'] } }),
  // Defaults as the API server writes them, and nothing in the places of the other ways.
  portRef.map((port) => ({ httpGet: { port, path: '/', scheme: 'HTTP' }, tcpSocket: null })),
  portRef.map((port) => ({ tcpSocket: { port }, httpGet: null, grpc: null })),
)

const times = fc.record(
  {
    initialDelaySeconds: fc.constantFrom(0, 5),
    periodSeconds: fc.constantFrom(1, 10),
    timeoutSeconds: fc.constantFrom(1, 30, 7200),
    failureThreshold: fc.constantFrom(1, 3),
  },
  { requiredKeys: [] },
)

const probe: fc.Arbitrary<Probe> = fc.tuple(action, times).map(([a, b]) => ({ ...a, ...b }))

const hook = action.filter((each) => !('grpc' in each))

const ports = fc
  .uniqueArray(
    fc.record(
      {
        containerPort: fc.constantFrom(...NUMBERS),
        name: fc.constantFrom(...NAMES),
        protocol: fc.constantFrom('TCP', 'UDP'),
        hostPort: fc.constantFrom(0, 31000),
      },
      { requiredKeys: ['containerPort'] },
    ),
    { maxLength: 3, selector: ({ name, containerPort }) => name ?? containerPort },
  )
  .filter((list) => new Set(list.map((each) => each.containerPort)).size === list.length)

const usual = fc.constantFrom(
  [{ name: 'mcp', containerPort: 3000 }],
  [{ name: 'mcp', containerPort: 3000, protocol: 'TCP' }, { containerPort: 8080 }],
)

function container(name: string): fc.Arbitrary<Container> {
  return fc.record(
    {
      name: fc.constant(name),
      image: fc.constant(`${name}:1`),
      ports: fc.oneof(
        { weight: name === 'app' ? 6 : 1, arbitrary: usual },
        { weight: 2, arbitrary: ports },
        fc.constant(null),
      ),
      env: fc.constantFrom([], null, [{ name: 'HOST', value: '127.0.0.1' }]),
      livenessProbe: probe,
      readinessProbe: fc.oneof(probe, fc.constant(null)),
      startupProbe: probe,
      lifecycle: fc.record({ postStart: hook, preStop: hook }, { requiredKeys: [] }),
      // Fields that injection knows nothing of.
      stdin: fc.boolean(),
      volumeMounts: fc.constant([{ name: 'data', mountPath: '/data' }]),
    },
    { requiredKeys: ['name', 'image'] },
  )
}

const initContainer = fc.oneof(
  container('wait'),
  container('log-agent').map((each) => ({ ...each, restartPolicy: 'Always' })),
)

const annotations = fc
  .record(
    {
      ports: fc.constantFrom('3000', '3000', '3000', 'mcp', '3000,8080', '80'),
      container: fc.constantFrom('app', 'app', 'app', 'other'),
      mode: fc.constantFrom('auto', 'redirect', 'port', 'bind'),
      outbound: fc.constantFrom('db:5432', '10.0.0.0/8:6379, *:3000,db:3000', '[fd00::1]:15301'),
      rules: fc.constant('my.rules'),
      'rules-key': fc.constantFrom('rules.yaml', 'shop.json'),
      'upstream-host': fc.constantFrom('127.0.0.1', '::1', 'pod-ip'),
      environment: fc.constantFrom('staging', 'prod'),
      'max-percent': fc.constantFrom('20%', '12.5', '100'),
      'max-duration': fc.constant('10m'),
      'max-active': fc.constant('3'),
      'allow-faults': fc.constantFrom('delay', 'delay, abort'),
      'deny-tools': fc.constant('pay_*, delete_order'),
      'guard-error-rate': fc.constantFrom('off', '5%'),
      'guard-window': fc.constant('1m'),
      'rollback-on': fc.constant('upstream-p99>800ms for 30s, calls>3x for 10s'),
      'rewrite-probes': fc.constantFrom('true', 'false'),
      'native-sidecar': fc.constantFrom('true', 'false'),
      image: fc.constant('mirror.example:5000/squall:2@sha256:'.concat('a'.repeat(64))),
      'log-level': fc.constant('debug'),
      'log-injections': fc.constantFrom('all', 'off'),
      'call-log': fc.constant('-'),
      'compat-api': fc.constant('chaos-monkey'),
      tasks: fc.constantFrom('true', 'false'),
      'cpu-request': fc.constantFrom('5m', '0.2'),
      'memory-limit': fc.constantFrom('128Mi', '1Gi'),
    },
    { requiredKeys: [] },
  )
  .map((record) =>
    Object.fromEntries(Object.entries(record).map(([key, value]) => [`squall.dev/${key}`, value])),
  )

const others = fc.constantFrom<Readonly<Record<string, string>>>(
  {},
  { 'prometheus.io/scrape': 'false' },
  { 'kubectl.kubernetes.io/default-container': 'app', 'example.com/a~b/c': 'ü "\n' },
)

/** Pods that ask for the sidecar in every way that a pod may, of every shape that matters. */
export const pods: fc.Arbitrary<Pod> = fc
  .record({
    asks: fc.constantFrom('annotation', 'label'),
    annotations: fc.oneof({ weight: 3, arbitrary: annotations }, fc.constant({})),
    others,
    nothing: fc.constantFrom(undefined, null, {}),
    names: fc.constantFrom({}, { name: 'tools-0' }, { generateName: 'tools-' }),
    spec: fc.record(
      {
        containers: fc.oneof(
          container('app').map((each) => [each]),
          fc.tuple(container('app'), container('other')),
          fc.tuple(container('app'), container('istio-proxy')),
        ),
        initContainers: fc.oneof(
          initContainer.map((each) => [each]),
          fc.constantFrom([], null),
        ),
        volumes: fc.constantFrom([], null, [{ name: 'data', emptyDir: {} }]),
        restartPolicy: fc.constantFrom('Always', 'Never'),
        terminationGracePeriodSeconds: fc.constantFrom(0, 1, 30, 600),
        dnsPolicy: fc.constant('ClusterFirst'),
        nodeSelector: fc.constant({ 'kubernetes.io/os': 'linux' }),
      },
      { requiredKeys: ['containers'] },
    ),
  })
  .map(({ asks, annotations: own, others: foreign, nothing, names, spec }) => {
    const inject = { 'squall.dev/inject': 'true' }
    if (asks === 'annotation') {
      const all = { ...foreign, ...own, ...inject }
      return { metadata: { ...names, labels: { app: 'tools' }, annotations: all }, spec }
    }
    const none = nothing === undefined ? {} : { annotations: nothing }
    return { metadata: { ...names, labels: { ...inject }, ...none }, spec }
  })
  // As a parser makes them: with the usual prototype, and nothing in two places at once.
  .map((pod) => JSON.parse(JSON.stringify(pod)) as Pod)

/** Places for pods: clusters of several ages, namespaces with several rules, Services or none. */
export const contexts: fc.Arbitrary<InjectionContext> = fc
  .record({
    minor: fc.constantFrom(undefined, 27, 30, 33, 34),
    owner: fc.constantFrom('ReplicaSet', 'StatefulSet', 'ReplicaSet', 'Job', 'Pod'),
    labels: fc.constantFrom<Readonly<Record<string, string>>>(
      {},
      {},
      {},
      { 'pod-security.kubernetes.io/enforce': 'restricted' },
      { environment: 'staging' },
      { environment: 'production' },
    ),
    annotations: fc.constantFrom<Readonly<Record<string, string>>>(
      {},
      { 'squall.dev/ports': '3000', 'squall.dev/max-percent': '10%' },
      { 'squall.dev/ports': '3000' },
      { 'squall.dev/allow-production': 'true' },
    ),
    services: fc.constantFrom(
      undefined,
      [],
      [
        servicePorts({
          metadata: { name: 'tools' },
          spec: { selector: { app: 'tools' }, ports: [{ port: 80, targetPort: 3000 }] },
        }),
      ],
    ),
  })
  .map(({ minor, owner, labels, annotations: own, services }) =>
    contextOf({
      owner,
      services,
      minor,
      namespace: { labels, annotations: own },
    }),
  )
