/** A ready plan: the server forgets sessions. */
export const SESSION_LOSS = `# The server forgets sessions, as after a restart or behind a balancer that is not sticky. Do clients begin new ones?
name: session-loss
target:
  url: http://localhost:15300/mcp # the listener of squall run
  environment: staging # the --environment of squall run
sidecar:
  admin: http://127.0.0.1:15390
  rulesFile: ./rules.yaml # what squall run was given by --rules
steadyState: { errors: 1%, p95: 1s, for: 20s }
rules:
  - name: lost-session
    match: { tool: search_docs }
    faults: [session: { expire: true }]
stages: [1%, 3%, 5%]
hold: 60s
load: { clients: 20, tools: [search_docs], retries: 1 }
abortOn: { errors: '>20% for 10s' }
slo: ['success>90%']
`
