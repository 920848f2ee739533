/** A ready plan: the server is killed. */
export const PROCESS_KILL = `# The process of the server is killed. Does it come back, and how long do its callers feel it?
name: process-kill
target:
  url: http://localhost:15300/mcp # the listener of squall run
  environment: staging # the --environment of squall run
sidecar:
  admin: http://127.0.0.1:15390
  rulesFile: ./rules.yaml # what squall run was given by --rules
steadyState: { probe: tools/list, errors: 1%, p95: 1s, for: 20s, within: 2m }
kill:
  pidFile: ./server.pid # written by the server, and again after each start
  command: server.mjs # a part of its command line
  restartWithin: 15s
hold: 60s
load: { clients: 10, tools: [search_docs], retries: 2, timeout: 5s }
abortOn: { errors: '>90% for 30s' }
slo: ['success>70%']
`
