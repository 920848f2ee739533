/** A ready plan: calls hang and hold what they have. */
export const POOL_EXHAUSTION = `# Calls hang, and streams are held beside them: connections, sessions and workers fill up. Do the other calls still get through?
name: pool-exhaustion
target:
  url: http://localhost:15300/mcp # the listener of squall run
  environment: staging # the --environment of squall run
sidecar:
  admin: http://127.0.0.1:15390
  rulesFile: ./rules.yaml # what squall run was given by --rules
steadyState: { errors: 1%, p95: 1s, for: 20s }
rules:
  - name: hanging-search
    match: { tool: search_docs }
    faults: [hang: { for: 20s }]
stages: [5%, 10%, 20%]
hold: 60s
load: { clients: 50, tools: [search_docs, get_weather], streams: 20, timeout: 5s }
abortOn: { errors: '>30% for 10s', p50: '>2s' }
slo: ['p50<1s']
`
