/** Maps keys of other fault tools to Squall's. Keys are compared without case, `_` and `-`. */
const FAMILIAR: Readonly<Record<string, string>> = {
  // Envoy and Istio
  fault: 'a rule has a list `faults`, with entries such as `- delay: { fixed: 5s }`',
  fixeddelay: 'the delay is `delay: { fixed: 5s }`',
  exponentialdelay: 'the delay is `delay: { exponential: { mean: 1s } }`',
  percentage: 'write `percent: 10` on the rule, beside `faults`',
  percent: 'write `percent: 10` on the rule, beside `faults`',
  value: 'write `percent: 10` on the rule, beside `faults`',
  numerator: 'write `percent: 10` on the rule, beside `faults`',
  denominator: 'write `percent: 10` on the rule, beside `faults`',
  httpstatus: 'the status is `abort: { status: 503 }`',
  grpcstatus: 'there is no gRPC here; a JSON-RPC error is `abort: { rpcError: { code: -32603 } }`',
  headerdelay: 'callers cannot ask for faults in the rules file; match a header with `headers`',
  headerabort: 'callers cannot ask for faults in the rules file; match a header with `headers`',
  maxactivefaults: 'the cap is `maxActive`, for a rule or for the file',
  // toxiproxy
  toxicity: 'the share is `probability: 0.5` on the rule, beside `faults`',
  attributes:
    'parameters stand right under the name of the fault: `delay: { fixed: 1s, jitter: 100ms }`',
  toxics: 'the list is called `rules`, and each rule has its own `faults`',
  type: 'the name of the fault is the key: `- delay: { fixed: 1s }`',
  stream: 'the moment is `at: request` or `at: response`, among the parameters of the fault',
  latency: 'lateness is `delay: { fixed: 1s }`',
  timeout: 'silence is `hang: { for: 30s }`',
  bandwidth: 'a slow link is `throttle: { rate: 4KiB }`',
  slicer: 'small pieces are `throttle: { rate: 1MiB, chunk: 64B }`',
  resetpeer: 'a reset connection is `reset`, or `reset: { at: stream, after: { bytes: 1KiB } }`',
  // Chaos Mesh
  apiversion:
    'this looks like a Kubernetes manifest; the rules are what stands under a key of its `data`',
  kind: 'this looks like a Kubernetes manifest; the rules are what stands under a key of its `data`',
  metadata:
    'this looks like a Kubernetes manifest; the rules are what stands under a key of its `data`',
  spec: 'this looks like a Kubernetes manifest; the rules are what stands under a key of its `data`',
  duration: 'how long a rule is active is `for: 15m`, on the rule',
  target: 'the moment is `at: request` or `at: response`, among the parameters of the fault',
  code: 'an HTTP status is `abort: { status: 503 }`; to match one, `match: { http: { status: 503 } }`',
  path: 'to match an HTTP path, write `match: { http: { path: "/api/*" } }`',
  requestheaders: 'request headers are matched by `match: { headers: { x-chaos: "on" } }`',
  mode: 'a share of the replicas is `pods: 10%`',
  selector:
    'pods are chosen by `match: { podLabels: { app: shop } }` or `match: { workload: shop }`; a share of the replicas is `pods: 10%`',
  // mcp-chaos
  chance: 'the share is `probability: 0.02` on the rule, beside `faults`',
  rate: 'the share is `probability: 0.02` on the rule, beside `faults`',
  tools: 'tools are matched by `match: { tool: [a, b] }`',
  addedms: 'lateness is `delay: { fixed: 4s }`, with its unit',
  delayms: 'lateness is `delay: { fixed: 4s }`, with its unit',
  latencyms: 'lateness is `delay: { fixed: 4s }`, with its unit',
  jitterms: 'write `jitter: 1500ms` beside `fixed`, with its unit',
  errorinjection: 'an error is `abort: { toolError: "…" }` or `abort: { status: 503 }`',
  aftercalls: 'write `after: 3` on the rule',
  // Others
  disabled: 'a rule is disabled by `enabled: false`, beside `faults`',
  disable: 'a rule is disabled by `enabled: false`, beside `faults`',
  '<<': 'merge keys are not read; write the keys out, or use an alias for a whole value',
}

/** Hints for keys among the parameters of a fault. */
const FAMILIAR_PARAMETERS: Readonly<Record<string, string>> = {
  duration: 'how long is `fixed: 5s`',
  time: 'how long is `fixed: 5s`',
  ms: 'how long is `fixed: 300ms`, with its unit',
  latency: 'how long is `fixed: 1s`, with its unit',
  bytes: 'it stands under `after`: `after: { bytes: 1KiB }`',
  events: 'it stands under `after`: `after: { events: 2 }`',
  min: 'a range is `uniform: { min: 1s, max: 2s }`',
  path: 'a change names its path: `rename: { /temperature: temp_c }`, `retype: { /humidity: string }`',
  type: 'a change of type is `retype: { /humidity: string }`',
  mean: 'a mean stands under its distribution: `normal: { mean: 1s, stddev: 200ms }`',
  stddev: 'it stands under its distribution: `normal: { mean: 1s, stddev: 200ms }`',
  code: 'an HTTP status is `status: 503`; the code of a JSON-RPC error is `rpcError: { code: -32603 }`',
  message:
    'the text of a failed tool is `toolError: "…"`; that of a JSON-RPC error is `rpcError: { message: "…" }`',
}

const AN_ERROR =
  'an error is `abort: { status: 503 }`, `abort: { toolError: "…" }` or `abort: { rpcError: { code: -32603 } }`'

/** Hints for names of faults, before those for keys. */
const FAMILIAR_FAULTS: Readonly<Record<string, string>> = {
  error: AN_ERROR,
  errors: AN_ERROR,
  fail: AN_ERROR,
  failure: AN_ERROR,
  exception: AN_ERROR,
  cut: 'a response that ends early is `truncate`, or `reset: { at: stream, after: { bytes: 1KiB } }`',
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
