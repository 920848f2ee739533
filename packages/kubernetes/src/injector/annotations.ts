import {
  caSource,
  containerName,
  cpu,
  duration,
  faults,
  guardRate,
  image,
  like,
  maxActive,
  maxDuration,
  memory,
  memoryRequest,
  objectName,
  httpUrl,
  oneOf,
  otelVariables,
  traceUrl,
  paths,
  percent,
  ports,
  rulesKey,
  tools,
  upstreamHost,
  type ValueCheck,
} from './value-checks.ts'
import { outboundProblem } from './outbound.ts'
import { isHostName } from '#protocol'
import { rollbackConditionsProblem } from '#rules'

/** The objects with a key. Keys of a namespace are defaults for its pods. */
export type AnnotationTarget = 'pod' | 'namespace'

/** One key, without its prefix. */
export interface AnnotationSpec {
  readonly key: string
  readonly targets: readonly AnnotationTarget[]
  readonly form: string
  /** The default; empty for none. */
  readonly fallback: string
  readonly meaning: string
  readonly check: ValueCheck
}

/** The annotations by key; those without targets are for both, and those without a default have none. */
type AnnotationTable = Readonly<
  Record<
    string,
    Omit<AnnotationSpec, 'key' | 'targets' | 'fallback'> &
      Partial<Pick<AnnotationSpec, 'targets' | 'fallback'>>
  >
>

const BOOLEAN = words('true', 'false')
const OBJECT_NAME = { form: 'a name', check: objectName }
const CPU = { form: 'a quantity', check: cpu }

const TABLE = {
  inject: {
    targets: ['pod'],
    ...BOOLEAN,
    fallback: '`false`',
    meaning:
      'inject the sidecar into this pod; can also be set as a label. `false` in either takes precedence',
  },
  ports: {
    form: '`3000`, `mcp`, `3000,4000`',
    fallback: 'the only declared TCP port',
    meaning: 'ports of your MCP server that the sidecar takes over, by number or name',
    check: ports,
  },
  container: {
    form: 'a name',
    fallback: 'any container',
    meaning: 'container with the ports, if several containers declare ports',
    check: containerName,
  },
  mode: {
    ...words('auto', 'redirect', 'port', 'bind'),
    fallback: '`auto`',
    meaning: 'how traffic reaches the sidecar',
  },
  outbound: {
    targets: ['pod'],
    form: '`db:5432`, `10.0.0.0/8:6379`, `[fd00::/8]:6379`, `*:443`, `http://tools:8080`',
    fallback: 'outgoing connections bypass the sidecar',
    meaning:
      'destinations whose TCP connections pass through the sidecar, separated by commas; a host name captures all connections to its port, and `http://` parses HTTP and MCP. Requires NET_ADMIN, like mode `redirect`',
    check: outboundProblem,
  },
  rules: {
    ...OBJECT_NAME,
    fallback: '`squall-rules`',
    meaning: 'ConfigMap with the rules, in the same namespace; optional',
  },
  'rules-key': {
    form: 'a key such as `shop.yaml`',
    fallback: 'all keys that end in `.yaml`, `.yml` or `.json`',
    meaning: 'the only key of that ConfigMap to read rules from',
    check: (value) => {
      const fix = rulesKey(value)
      return fix && `${fix}, and rename the key in the ConfigMap, too`
    },
  },
  'upstream-host': {
    form: '`127.0.0.1`, `::1`, `pod-ip`',
    fallback: '`pod-ip` in mode `redirect`, `127.0.0.1` in the others',
    meaning: 'address in the pod on which your MCP server listens',
    check: upstreamHost,
  },
  'upstream-tls': {
    ...words('verify', 'insecure-skip-verify'),
    fallback:
      'plain HTTP to your MCP server; pods with a probe or hook that uses `scheme: HTTPS` on these ports are denied',
    meaning: 'connect to your MCP server over TLS on all intercepted ports; requires `tls-secret`',
  },
  'upstream-ca': {
    form: '`configmap/NAME/KEY`, `secret/NAME/KEY`, `volume/NAME/PATH`',
    fallback: 'the public CAs',
    meaning: 'CA certificates for your MCP server, as PEM',
    check: caSource,
  },
  'upstream-servername': {
    form: 'a DNS name',
    meaning: 'name in the certificate of your MCP server; required with `upstream-tls: verify`',
    check: (value) =>
      isHostName(value) && !value.endsWith('.')
        ? undefined
        : 'write a DNS name, such as mcp-server.shop.svc',
  },
  'tls-secret': {
    ...OBJECT_NAME,
    fallback: 'clients are served plain HTTP',
    meaning:
      "Secret in the same namespace with `tls.crt` and `tls.key` for the sidecar's listeners",
  },
  environment: {
    form: 'a name',
    fallback: 'the label `environment` of the namespace',
    meaning:
      'environment of the sidecar; if the name indicates production, such as `shop-prod`, no rule acts unless the namespace has `allow-production`',
    check: like(
      /^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/,
      'use letters, digits, dots and dashes, such as staging',
    ),
  },
  'max-percent': {
    form: 'a percentage',
    meaning: 'maximum percentage of matching calls that a rule may sample',
    check: percent,
  },
  'max-duration': {
    form: 'a duration',
    meaning:
      'maximum duration of a rule, measured from its `appliedAt` (without it, its first load) or its `from`, whichever is later',
    check: maxDuration,
  },
  'max-active': {
    form: 'a number',
    meaning: 'maximum number of concurrent faults across all rules except `connection` rules',
    check: maxActive,
  },
  'allow-faults': {
    form: '`delay,abort`',
    fallback: 'rules may use all faults',
    meaning: 'allowlist of faults; rules with any other fault never act',
    check: faults,
  },
  'deny-tools': {
    form: '`pay_*,delete_*`',
    meaning: 'tools on whose calls no rule acts, by name or glob',
    check: tools,
  },
  'guard-error-rate': {
    form: 'a percentage, `off`',
    fallback: '`50%`',
    meaning: 'real error rate above which all rules are disarmed',
    check: guardRate,
  },
  'guard-window': {
    form: 'a duration',
    fallback: '`30s`',
    meaning: 'time window of the error rate',
    check: duration(1_000, 3_600_000, 'write a duration from 1s to 1h, such as 30s'),
  },
  'rollback-on': {
    form: '`real-errors>1% for 30s, not-ready for 10s`',
    meaning: 'conditions under which all rules are disarmed until `squall resume -t`',
    check: rollbackConditionsProblem,
  },
  'exclude-paths': {
    form: '`/admin/*`, `/a,/b`',
    meaning: 'request paths on which no rule acts, as exact paths or globs',
    check: paths,
  },
  'rewrite-probes': {
    ...BOOLEAN,
    fallback: '`true`',
    meaning: 'exempt probes and lifecycle hooks on intercepted ports from faults',
  },
  'native-sidecar': {
    ...BOOLEAN,
    fallback: '`true` from Kubernetes 1.33 on',
    meaning:
      'run the sidecar as a native sidecar (init container with `restartPolicy: Always`); requires Kubernetes 1.29 or newer (in mode `port`, 1.33 or newer)',
  },
  image: {
    form: 'an image',
    fallback: 'the image in the injector settings',
    meaning: 'sidecar image',
    check: image,
  },
  'metrics-detail': {
    ...words('basic', 'full'),
    fallback: '`basic`',
    meaning:
      'metric series of the sidecar: `basic` aggregates latencies across tools; `full` reports them by tool',
  },
  'log-level': {
    ...words('debug', 'info', 'warn', 'error'),
    fallback: '`info`',
    meaning: 'log level of the sidecar',
  },
  'log-injections': {
    ...words('all', 'sample', 'off'),
    fallback: '`all`',
    meaning: 'log lines about injected faults; `sample` logs at most ten a second',
  },
  'call-log': {
    ...words('-'),
    fallback: 'calls are not logged',
    meaning: "log each completed call as a JSON line to the sidecar's standard output",
  },
  'otlp-endpoint': {
    form: 'a URL',
    fallback: 'no spans are exported',
    meaning:
      "OpenTelemetry collector that receives the spans of sampled calls via OTLP/HTTP; headers such as tokens come from the key `otlp-headers` of the sidecar's Secret",
    check: httpUrl,
  },
  'otel-env': {
    form: '`NAME=value`, separated by spaces or lines',
    meaning:
      'additional `OTEL_…` environment variables for the sidecar, such as `OTEL_TRACES_SAMPLER=always_on`',
    check: otelVariables,
  },
  'trace-injected': {
    ...BOOLEAN,
    fallback: '`false`',
    meaning: 'export the spans of calls with a fault even if the parent span is not sampled',
  },
  'trace-url': {
    form: 'a URL with `{trace}`',
    meaning: 'URL template for links to traces in your tracing tool, like `squall run --trace-url`',
    check: traceUrl,
  },
  tasks: {
    ...BOOLEAN,
    fallback: '`true`',
    meaning: 'report what agents do after faults and errors, like `squall run --tasks`',
  },
  'trust-markers': {
    ...BOOLEAN,
    fallback: '`false`',
    meaning:
      "count another sidecar's injected errors as `injected_elsewhere`, like `squall run --trust-markers`; for pods whose `outbound` destinations also have a sidecar (`squall inject` sets it if its input shows this)",
  },
  'compat-api': {
    ...words('chaos-monkey'),
    fallback: 'no additional API',
    meaning:
      'additional API on the admin port, like `squall run --compat-api`; requires the admin token',
  },
  qos: {
    ...words('guaranteed', 'burstable'),
    fallback: '`guaranteed` if the pod is in the QoS class Guaranteed, otherwise `burstable`',
    meaning:
      'QoS of the sidecar: `guaranteed` sets its requests equal to its limits, which keeps the pod in the QoS class Guaranteed',
  },
  'cpu-request': {
    ...CPU,
    fallback: '`10m`, or the CPU limit if the sidecar has the QoS `guaranteed`',
    meaning: 'CPU request of the sidecar',
  },
  'cpu-limit': {
    ...CPU,
    fallback: '`1`, or `500m` if the sidecar has the QoS `guaranteed`',
    meaning: 'CPU limit of the sidecar',
  },
  'memory-request': {
    form: 'a quantity',
    fallback: '`32Mi`, or the memory limit if the sidecar has the QoS `guaranteed`',
    meaning: 'memory request of the sidecar',
    check: memoryRequest,
  },
  'memory-limit': {
    form: 'a quantity',
    fallback: '`256Mi`',
    meaning: 'memory limit of the sidecar, which also limits the Node.js heap',
    check: memory,
  },
  'allow-production': {
    targets: ['namespace'],
    ...BOOLEAN,
    fallback: '`false`',
    meaning:
      'allow the sidecar and its faults even if the namespace or a pod in it counts as production',
  },
} as const satisfies AnnotationTable

/** A key that users may write, without its prefix. */
export type AnnotationKey = keyof typeof TABLE

/** All annotations of the injector, in the order of the documentation. */
export const ANNOTATIONS: readonly (AnnotationSpec & { readonly key: AnnotationKey })[] =
  Object.entries<AnnotationTable[string]>(TABLE).map(([key, spec]) => ({
    targets: ['pod', 'namespace'],
    fallback: '',
    ...spec,
    key: key as AnnotationKey,
  }))

/** Returns the form and the check of a value that is one of the words. */
function words(...all: readonly string[]): { form: string; check: ValueCheck } {
  return { form: all.map((word) => `\`${word}\``).join(', '), check: oneOf(...all) }
}
