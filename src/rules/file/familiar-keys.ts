/** Maps keys of other fault tools to Squall's. Keys are compared without case, `_` and `-`. */
const FAMILIAR: Readonly<Record<string, string>> = {
  // Envoy and Istio
  fault: 'write a `faults` list in each rule, with entries such as `- delay: { fixed: 5s }`',
  fixeddelay: 'write `delay: { fixed: 5s }`',
  exponentialdelay: 'write `delay: { exponential: { mean: 1s } }`',
  percentage: 'write `percent: 10` on the rule, beside `faults`',
  percent: 'write `percent: 10` on the rule, beside `faults`',
  value: 'write `percent: 10` on the rule, beside `faults`',
  numerator: 'write `percent: 10` on the rule, beside `faults`',
  denominator: 'write `percent: 10` on the rule, beside `faults`',
  httpstatus: 'write `abort: { status: 503 }`',
  grpcstatus: 'gRPC is not supported; for JSON-RPC, write `abort: { rpcError: { code: -32603 } }`',
  headerdelay: 'not supported in rules; to match a header, write it under `headers`',
  headerabort: 'not supported in rules; to match a header, write it under `headers`',
  maxactivefaults: 'write `maxActive`, in a rule or in the file',
  // toxiproxy
  toxicity: 'write `probability: 0.5` on the rule, beside `faults`',
  attributes:
    'write parameters directly under the name of the fault: `delay: { fixed: 1s, jitter: 100ms }`',
  toxics: 'write a `rules` list, with `faults` in each rule',
  type: 'write the name of the fault as the key: `- delay: { fixed: 1s }`',
  stream: 'write `at: request` or `at: response` in the parameters of the fault',
  latency: 'write `delay: { fixed: 1s }`',
  timeout: 'write `hang: { for: 30s }`',
  bandwidth: 'write `throttle: { rate: 4KiB }`',
  slicer: 'write `throttle: { rate: 1MiB, chunk: 64B }`',
  resetpeer: 'write `reset`, or `reset: { at: stream, after: { bytes: 1KiB } }`',
  // Chaos Mesh
  apiversion: 'this is a Kubernetes manifest; pass the value of its data."rules.yaml"',
  kind: 'this is a Kubernetes manifest; pass the value of its data."rules.yaml"',
  metadata: 'this is a Kubernetes manifest; pass the value of its data."rules.yaml"',
  spec: 'this is a Kubernetes manifest; pass the value of its data."rules.yaml"',
  duration: 'write `for: 15m` on the rule',
  target: 'write `at: request` or `at: response` in the parameters of the fault',
  code: 'write `abort: { status: 503 }`; to match a status, `match: { http: { status: 503 } }`',
  path: 'write `match: { http: { path: "/api/*" } }`',
  requestheaders: 'write `match: { headers: { x-chaos: "on" } }`',
  mode: 'write `pods: 10%` for a share of the replicas',
  selector:
    'write `match: { podLabels: { app: shop } }` or `match: { workload: shop }`; for a share of the replicas, `pods: 10%`',
  // mcp-chaos
  chance: 'write `probability: 0.02` on the rule, beside `faults`',
  rate: 'write `probability: 0.02` on the rule, beside `faults`',
  tools: 'write `match: { tool: [a, b] }`',
  addedms: 'write `delay: { fixed: 4s }`, with its unit',
  delayms: 'write `delay: { fixed: 4s }`, with its unit',
  latencyms: 'write `delay: { fixed: 4s }`, with its unit',
  jitterms: 'write `jitter: 1500ms` beside `fixed`, with its unit',
  errorinjection: 'write `abort: { toolError: "…" }` or `abort: { status: 503 }`',
  aftercalls: 'write `after: 3` on the rule',
  // Others
  disabled: 'write `enabled: false`, beside `faults`',
  disable: 'write `enabled: false`, beside `faults`',
  '<<': 'merge keys are not supported; write the keys out, or use an alias for a whole value',
}

/** Hints for keys among the parameters of a fault. */
const FAMILIAR_PARAMETERS: Readonly<Record<string, string>> = {
  duration: 'write `fixed: 5s`',
  time: 'write `fixed: 5s`',
  ms: 'write `fixed: 300ms`, with its unit',
  latency: 'write `fixed: 1s`, with its unit',
  bytes: 'write it under `after`: `after: { bytes: 1KiB }`',
  events: 'write it under `after`: `after: { events: 2 }`',
  min: 'write `uniform: { min: 1s, max: 2s }`',
  path: 'write the path in each change: `rename: { /temperature: temp_c }`, `retype: { /humidity: string }`',
  type: 'write `retype: { /humidity: string }`',
  mean: 'write it under its distribution: `normal: { mean: 1s, stddev: 200ms }`',
  stddev: 'write it under its distribution: `normal: { mean: 1s, stddev: 200ms }`',
  code: 'write `status: 503` for an HTTP status, `rpcError: { code: -32603 }` for a JSON-RPC error',
  message:
    'write `toolError: "…"` for a failed tool, `rpcError: { message: "…" }` for a JSON-RPC error',
}

const AN_ERROR =
  'write `abort: { status: 503 }`, `abort: { toolError: "…" }` or `abort: { rpcError: { code: -32603 } }`'

/** Hints for names of faults, before those for keys. */
const FAMILIAR_FAULTS: Readonly<Record<string, string>> = {
  error: AN_ERROR,
  errors: AN_ERROR,
  fail: AN_ERROR,
  failure: AN_ERROR,
  exception: AN_ERROR,
  cut: 'write `truncate`, or `reset: { at: stream, after: { bytes: 1KiB } }`',
}

/**
 * Returns a replacement for a name that faults of other tools have; undefined for any other name.
 */
export function familiarFault(name: string): string | undefined {
  const known = name.toLowerCase()
  return Object.hasOwn(FAMILIAR_FAULTS, known) ? FAMILIAR_FAULTS[known] : undefined
}

/** Returns a replacement for a key of another tool; undefined for any other key. */
export function familiarHint(key: string, inParameters: boolean): string | undefined {
  const name = key.toLowerCase().replace(/[_-]/g, '')
  if (inParameters && Object.hasOwn(FAMILIAR_PARAMETERS, name)) return FAMILIAR_PARAMETERS[name]
  return Object.hasOwn(FAMILIAR, name) ? FAMILIAR[name] : undefined
}
