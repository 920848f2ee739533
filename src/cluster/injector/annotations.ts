import {
  caSource,
  containerName,
  cpu,
  duration,
  guardRate,
  image,
  like,
  maxDuration,
  memory,
  memoryRequest,
  objectName,
  oneOf,
  paths,
  percent,
  ports,
  upstreamHost,
  type ValueCheck,
} from './value-checks.ts'
import { rollbackConditionsProblem } from '../../rules/guard/rollback-condition.ts'

/** The objects with a key. Keys of a namespace are defaults for its pods. */
export type AnnotationTarget = 'pod' | 'namespace'

/** One key, without its prefix. */
export interface AnnotationSpec {
  readonly key: string
  readonly targets: readonly AnnotationTarget[]
  /** The form of the value. */
  readonly form: string
  /** The default; empty for none. */
  readonly fallback: string
  readonly meaning: string
  readonly check: ValueCheck
}

const BOTH = ['pod', 'namespace'] as const
const BOOLEAN = oneOf('true', 'false')

/** All annotations of the injector, in the order of the documentation. */
export const ANNOTATIONS = [
  {
    key: 'inject',
    targets: ['pod'],
    form: '`true`, `false`',
    fallback: '`false`',
    meaning: 'inject the sidecar into this pod; may also be a label. `false` in either wins',
    check: BOOLEAN,
  },
  {
    key: 'ports',
    targets: BOTH,
    form: '`3000`, `mcp`, `3000,4000`',
    fallback: 'the only declared TCP port',
    meaning: 'ports of your MCP server to take over, by number or name',
    check: ports,
  },
  {
    key: 'container',
    targets: BOTH,
    form: 'a name',
    fallback: 'any container',
    meaning: 'container with the ports, where several containers declare ports',
    check: containerName,
  },
  {
    key: 'mode',
    targets: BOTH,
    form: '`auto`, `redirect`, `port`, `bind`',
    fallback: '`auto`',
    meaning: 'how traffic reaches the sidecar',
    check: oneOf('auto', 'redirect', 'port', 'bind'),
  },
  {
    key: 'rules',
    targets: BOTH,
    form: 'a name',
    fallback: '`squall-rules`',
    meaning: 'ConfigMap of the same namespace with the rules; it may be missing',
    check: objectName,
  },
  {
    key: 'rules-key',
    targets: BOTH,
    form: 'a key',
    fallback: 'all keys that end in `.yaml`, `.yml` or `.json`',
    meaning: 'the only key of that ConfigMap to read',
    check: like(
      /^(?!\.\.)[-_A-Za-z0-9.]{1,253}$/,
      'write a key of the ConfigMap, such as rules.yaml',
    ),
  },
  {
    key: 'upstream-host',
    targets: BOTH,
    form: '`127.0.0.1`, `::1`, `pod-ip`',
    fallback: '`pod-ip` in mode `redirect`, `127.0.0.1` in the others',
    meaning: 'address in the pod on which your MCP server listens',
    check: upstreamHost,
  },
  {
    key: 'upstream-tls',
    targets: BOTH,
    form: '`verify`, `insecure-skip-verify`',
    fallback: 'your MCP server speaks plain HTTP; a probe with `scheme: HTTPS` is denied',
    meaning: 'use TLS with your MCP server, on all taken ports; needs `tls-secret`',
    check: oneOf('verify', 'insecure-skip-verify'),
  },
  {
    key: 'upstream-ca',
    targets: BOTH,
    form: '`configmap/NAME/KEY`, `secret/NAME/KEY`, `volume/NAME/PATH`',
    fallback: 'the public CAs',
    meaning: 'CA certificates for your MCP server, as PEM',
    check: caSource,
  },
  {
    key: 'upstream-servername',
    targets: BOTH,
    form: 'a DNS name',
    fallback: '',
    meaning: 'name in the certificate of your MCP server; needed with `upstream-tls: verify`',
    check: like(
      /^(?=.{1,253}$)(?!.*\.\d+$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/,
      'write a DNS name, such as mcp-server.shop.svc',
    ),
  },
  {
    key: 'tls-secret',
    targets: BOTH,
    form: 'a name',
    fallback: 'clients are served plain HTTP',
    meaning:
      'Secret of the same namespace with `tls.crt` and `tls.key` for the listeners of the sidecar',
    check: objectName,
  },
  {
    key: 'environment',
    targets: BOTH,
    form: 'a name',
    fallback: 'the label `environment` of the namespace',
    meaning:
      'name of the environment; with a name that means production, such as `shop-prod`, no rule ever acts',
    check: like(
      /^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/,
      'use letters, digits, dots and dashes, such as staging',
    ),
  },
  {
    key: 'max-percent',
    targets: BOTH,
    form: 'a percentage',
    fallback: '',
    meaning: 'highest share of its matching calls that a rule may sample',
    check: percent,
  },
  {
    key: 'max-duration',
    targets: BOTH,
    form: 'a duration',
    fallback: '',
    meaning:
      'longest time that a rule is active, counted from its appliedAt, else from when it appeared',
    check: maxDuration,
  },
  {
    key: 'guard-error-rate',
    targets: BOTH,
    form: 'a percentage, `off`',
    fallback: '`50%`',
    meaning: 'share of real errors above which all rules are disarmed',
    check: guardRate,
  },
  {
    key: 'guard-window',
    targets: BOTH,
    form: 'a duration',
    fallback: '`30s`',
    meaning: 'time window of the error rate',
    check: duration(1_000, 3_600_000, 'write a duration from 1s to 1h, such as 30s'),
  },
  {
    key: 'rollback-on',
    targets: BOTH,
    form: '`real-errors>1% for 30s, not-ready for 10s`',
    fallback: '',
    meaning:
      'conditions under which all rules are disarmed until `squall arm`; those of the pod, the namespace and the settings apply together',
    check: rollbackConditionsProblem,
  },
  {
    key: 'exclude-paths',
    targets: BOTH,
    form: '`/admin/*`, `/a,/b`',
    fallback: '',
    meaning: 'paths on which no rule acts, by exact path or glob',
    check: paths,
  },
  {
    key: 'rewrite-probes',
    targets: BOTH,
    form: '`true`, `false`',
    fallback: '`true`',
    meaning: 'perform probes and hooks of the taken ports without faults',
    check: BOOLEAN,
  },
  {
    key: 'native-sidecar',
    targets: BOTH,
    form: '`true`, `false`',
    fallback: '`true` from Kubernetes 1.33 on',
    meaning: 'run the sidecar as an init container that is always restarted (from 1.29 on)',
    check: BOOLEAN,
  },
  {
    key: 'image',
    targets: BOTH,
    form: 'an image',
    fallback: 'the image in the settings of the injector',
    meaning: 'image of the sidecar',
    check: image,
  },
  {
    key: 'log-level',
    targets: BOTH,
    form: '`debug`, `info`, `warn`, `error`',
    fallback: '`info`',
    meaning: 'log level of the sidecar',
    check: oneOf('debug', 'info', 'warn', 'error'),
  },
  {
    key: 'log-injections',
    targets: BOTH,
    form: '`all`, `sample`, `off`',
    fallback: '`all`',
    meaning: 'injected faults that the sidecar logs; `sample` logs at most ten a second',
    check: oneOf('all', 'sample', 'off'),
  },
  {
    key: 'call-log',
    targets: BOTH,
    form: '`-`',
    fallback: 'calls are not logged',
    meaning: 'log each call that has ended as a line of JSON on the standard output of the sidecar',
    check: oneOf('-'),
  },
  {
    key: 'qos',
    targets: BOTH,
    form: '`guaranteed`, `burstable`',
    fallback: '`guaranteed` where all containers of the pod are, else `burstable`',
    meaning: 'whether requests of the sidecar equal its limits, which keeps the pod Guaranteed',
    check: oneOf('guaranteed', 'burstable'),
  },
  {
    key: 'cpu-request',
    targets: BOTH,
    form: 'a quantity',
    fallback: '`10m`',
    meaning: 'CPU request of the sidecar',
    check: cpu,
  },
  {
    key: 'cpu-limit',
    targets: BOTH,
    form: 'a quantity',
    fallback: '`1`',
    meaning: 'CPU limit of the sidecar',
    check: cpu,
  },
  {
    key: 'memory-request',
    targets: BOTH,
    form: 'a quantity',
    fallback: '`32Mi`',
    meaning: 'memory request of the sidecar',
    check: memoryRequest,
  },
  {
    key: 'memory-limit',
    targets: BOTH,
    form: 'a quantity',
    fallback: '`256Mi`',
    meaning: 'memory limit of the sidecar, which also bounds the heap of Node',
    check: memory,
  },
  {
    key: 'allow-production',
    targets: ['namespace'],
    form: '`true`, `false`',
    fallback: '`false`',
    meaning:
      'allow the sidecar, and faults, in a namespace that counts as production by its label or its name',
    check: BOOLEAN,
  },
] as const satisfies readonly AnnotationSpec[]

/** A key that users may write, without its prefix. */
export type AnnotationKey = (typeof ANNOTATIONS)[number]['key']
