/** A ready plan: what a tool depends on fails. */
export const DEPENDENCY_FAILURE = `# What a tool depends on fails: the tool says so by an error. Do retries hide it, and is there enough of them?
name: dependency-failure
target:
  url: http://localhost:15300/mcp # the listener of squall run
  environment: staging # the --environment of squall run
sidecar:
  admin: http://127.0.0.1:15390
  rulesFile: ./rules.yaml # what squall run was given by --rules
steadyState: { errors: 1%, p95: 1s, for: 20s }
rules:
  - name: database-gone
    match: { tool: search_docs }
    faults: [abort: { toolError: 'connection to the database lost' }]
stages: [2%, 5%, 10%]
hold: 60s
load: { clients: 10, tools: [search_docs], fanOut: 8, retries: 2, retryBudget: 10% }
abortOn: { errors: '>5% for 10s' }
slo: ['success>99%', 'blast<5%']
`
