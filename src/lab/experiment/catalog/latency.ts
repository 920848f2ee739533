/** A ready plan: a tool becomes slow. */
export const LATENCY = `# A tool becomes slow. Does what calls it wait, give up, or go on without it?
name: latency
target:
  url: http://localhost:15300/mcp # the listener of squall run
  environment: staging # the --environment of squall run
sidecar:
  admin: http://127.0.0.1:15390
  rulesFile: ./rules.yaml # what squall run was given by --rules
steadyState: { errors: 1%, p95: 1s, for: 20s }
rules:
  - name: slow-search
    match: { tool: search_docs }
    faults: [delay: { fixed: 2s, jitter: 500ms }]
stages: [10%, 25%, 50%]
hold: 60s
load: { clients: 10, tools: [search_docs], fanOut: 4, timeout: 10s }
abortOn: { errors: '>5% for 10s', p95: '>8s' }
slo: ['success>99%', 'p95<5s']
`
