/** A ready plan: a quota is used up. */
export const RATE_LIMIT = `# A quota is used up: 429 with Retry-After. Do clients wait, or hammer on?
name: rate-limit
target:
  url: http://localhost:15300/mcp # the listener of squall run
  environment: staging # the --environment of squall run
sidecar:
  admin: http://127.0.0.1:15390
  rulesFile: ./rules.yaml # what squall run was given by --rules
steadyState: { errors: 1%, p95: 1s, for: 20s }
rules:
  - name: quota
    match: { tool: search_docs }
    faults: [rateLimit: { retryAfter: 1s }]
stages: [5%, 15%, 30%]
hold: 60s
load: { clients: 10, tools: [search_docs], retries: 3, timeout: 10s }
abortOn: { errors: '>10% for 10s' }
slo: ['success>95%']
`
