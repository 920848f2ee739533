/** A ready plan: failures are retried on every layer. */
export const RETRY_STORM = `# The server gets each call several times while some fail: a retry storm. Does it bear the load, and does the budget of retries hold?
name: retry-storm
target:
  url: http://localhost:15300/mcp # the listener of squall run
  environment: staging # the --environment of squall run
sidecar:
  admin: http://127.0.0.1:15390
  rulesFile: ./rules.yaml # what squall run was given by --rules
steadyState: { errors: 1%, p95: 1s, for: 20s }
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
abortOn: { errors: '>15% for 10s', p95: '>5s' }
slo: ['retries<2']
`
