/** A plan that runs once its addresses and tools are adapted. */
export interface ReadyPlan {
  readonly name: string
  readonly about: string
  readonly text: string
}

const TARGET = `target:
  url: http://localhost:15300/mcp # the listener of squall run
  environment: staging # the --environment of squall run
sidecar:
  admin: http://127.0.0.1:15390
  rulesFile: ./rules.yaml # the --rules of squall run`

/** Writes a rule with one fault for the tool of most plans. */
const search = (name: string, fault: string): string => `rules:
  - name: ${name}
    match: { tool: search_docs }
    faults: [${fault}]`

const PLANS = [
  {
    name: 'latency',
    about: 'a tool becomes slow',
    asks: 'A tool becomes slow, by 2 to 5 seconds. Does an alert on twice the usual p95 fire, and do its callers wait?',
    rest: `steadyState: { errors: 1%, p95: 1s, for: 20s }
${search('slow-search', 'delay: { uniform: { min: 2s, max: 5s } }')}
stages: [10%, 25%, 50%]
hold: 60s
load: { clients: 10, tools: [search_docs], fanOut: 4, timeout: 10s }
abortOn: { errors: { limit: 5%, for: 10s }, p95: 8s }
slo: { success: 99%, p95: 6s }
expect:
  # the alert of deploy/prometheus/experiments.example.yml
  alert: { name: McpLatencyHigh, within: 2m, resolved: 5m, alertmanager: http://localhost:9093 }
`,
  },
  {
    name: 'dependency-failure',
    about: 'a dependency of a tool fails',
    asks: 'A dependency of a tool fails, and the tool returns an error. Do the retries suffice to hide it?',
    rest: `steadyState: { errors: 1%, p95: 1s, for: 20s }
${search('database-gone', "abort: { toolError: 'connection to the database lost' }")}
stages: [2%, 5%, 10%]
hold: 60s
load: { clients: 10, tools: [search_docs], fanOut: 8, retries: 2, retryBudget: 10% }
abortOn: { errors: { limit: 5%, for: 10s } }
slo: { success: 99%, blast: 5% }
`,
  },
  {
    name: 'dependency-blocked',
    about: 'a dependency of the server is blocked, and restored',
    asks: `A dependency of the server is blocked for a minute, and restored. Does the server respond, say so, and recover?
# The sidecar carries the connections of the server to the dependency: squall run --outbound 127.0.0.1:15432=db:5432`,
    rest: `steadyState:
  health: { url: http://localhost:3000/health } # of the server
  errors: 1%
  p95: 1s
  for: 20s
  within: 2m
dependency:
  outbound: { port: 5432 }
  blocked: blackhole # or refuse
hold: 60s
load: { clients: 10, tools: [search_docs], timeout: 10s }
abortOn: { uptime: { limit: 99%, for: 5s } } # initialize and tools/list
expect:
  errors: [tool_error]
  during:
    health: { url: http://localhost:3000/health, status: 503 }
`,
  },
  {
    name: 'held-sessions',
    about: 'sessions use up the pool of the server',
    asks: '20 sessions are held open. Does the server slow down and report that it is not ready, without silently empty results?',
    rest: `steadyState:
  health: { url: http://localhost:3000/ready }
  errors: 1%
  p95: 1s
  for: 20s
  within: 2m
exhaust: { sessions: 20 }
hold: 60s
load: { clients: 5, tools: [search_docs], timeout: 10s, expect: ['search_docs:/content>0'] }
slo: { correctness: 100% } # of the calls that return a result
expect:
  errors: [tool_error, rpc_error, http_error]
  during:
    p95: 2x
    health: { url: http://localhost:3000/ready, status: 503 }
`,
  },
  {
    name: 'pool-exhaustion',
    about: 'calls hang and hold resources',
    asks: 'Calls hang while streams are held: connections, sessions and workers fill up. Do other calls succeed?',
    rest: `steadyState: { errors: 1%, p95: 1s, for: 20s }
${search('hanging-search', 'hang: { for: 20s }')}
stages: [5%, 10%, 20%]
hold: 60s
load: { clients: 50, tools: [search_docs, get_weather], streams: 20, timeout: 5s }
abortOn: { errors: { limit: 30%, for: 10s }, p50: 2s }
slo: { p50: 1s }
`,
  },
  {
    name: 'process-kill',
    about: 'the server is killed',
    asks: 'The process of the server is killed. Does it restart, are calls refused at once, and does an alert fire and resolve?',
    rest: `steadyState: { probe: tools/list, errors: 1%, p95: 1s, for: 20s, within: 2m }
kill:
  pidFile: ./server.pid # written by the server, and again after each start
  command: server.mjs # part of its command line
  restartWithin: 15s
hold: 60s
load: { clients: 10, tools: [search_docs], retries: 2, timeout: 5s }
abortOn: { errors: { limit: 90%, for: 30s } }
slo: { success: 70% }
expect:
  errors: [connection_refused, reset, http_error] # 404 for sessions that the server has lost
  # within two cycles of a probe each minute; the alert of deploy/prometheus/experiments.example.yml
  alert: { name: McpServerDown, within: 2m, resolved: 5m, alertmanager: http://localhost:9093 }
`,
  },
  {
    name: 'session-loss',
    about: 'the server forgets sessions',
    asks: 'The server forgets sessions, as after a restart or without session affinity. Do clients begin new sessions?',
    rest: `steadyState: { errors: 1%, p95: 1s, for: 20s }
${search('lost-session', 'session: { expire: true }')}
stages: [1%, 3%, 5%]
hold: 60s
load: { clients: 20, tools: [search_docs], retries: 1 }
abortOn: { errors: { limit: 20%, for: 10s } }
slo: { success: 90% }
`,
  },
  {
    name: 'schema-drift',
    about: 'results change their schema',
    asks: 'Results change their schema without notice. Do clients detect it?',
    rest: `steadyState: { errors: 1%, success: 99%, for: 20s }
rules:
  - name: drifted-weather
    match: { tool: get_weather }
    faults: [rewrite: { rename: { '/temperature': '/temp_c' }, retype: { '/humidity': string } }]
stages: [5%, 15%, 30%]
hold: 60s
load: { clients: 10, tools: [get_weather] }
abortOn: { errors: { limit: 5%, for: 10s }, success: { limit: 50%, for: 10s } }
slo: { errors: 1%, silent: 40% }
`,
  },
  {
    name: 'lying-tool',
    about: 'results are plausible and wrong',
    asks: `Results have a plausible wrong value. Do agents look again before they act on one?
# Let your agents work through the sidecar during the stages: the load alone uses no result.`,
    rest: `steadyState: { errors: 1%, p95: 1s, for: 20s }
rules:
  - name: wrong-weather
    match: { tool: get_weather }
    faults: [falsify: { number: { by: 5% } }] # a use in a destructive tool is blocked
stages: [5%, 15%, 30%]
hold: 60s
load: { clients: 10, tools: [get_weather] }
abortOn: { errors: { limit: 5%, for: 10s } }
slo: { errors: 1%, falsified-used: 0 }
`,
  },
  {
    name: 'rate-limit',
    about: 'a quota is used up',
    asks: 'A quota is used up: 429 with Retry-After. Do clients wait, or retry at once?',
    rest: `steadyState: { errors: 1%, p95: 1s, for: 20s }
${search('quota', 'rateLimit: { retryAfter: 1s }')}
stages: [5%, 15%, 30%]
hold: 60s
load: { clients: 10, tools: [search_docs], retries: 3, timeout: 10s }
abortOn: { errors: { limit: 10%, for: 10s } }
slo: { success: 95% }
`,
  },
  {
    name: 'retry-storm',
    about: 'failures are retried on every layer',
    asks: 'The server gets each call several times while some fail: a retry storm. Does it survive the load, and does the retry budget limit it?',
    rest: `steadyState: { errors: 1%, p95: 1s, for: 20s }
rules:
  - name: storm
    match: { tool: search_docs }
    faults: [amplify: { copies: 3 }]
  - name: spark
    match: { tool: search_docs }
    percent: 50
    faults: [abort: { status: 503 }]
stages: [10%, 25%, 50%]
hold: 60s
load: { clients: 10, tools: [search_docs], fanOut: 4, retries: 3, retryBudget: 20% }
abortOn: { errors: { limit: 15%, for: 10s }, p95: 5s }
slo: { retries: 2 }
`,
  },
]

/** Lists the ready plans. */
export const READY_PLANS: readonly ReadyPlan[] = PLANS.map(({ name, about, asks, rest }) => {
  return { name, about, text: `# ${asks}\nname: ${name}\n${TARGET}\n${rest}` }
})
