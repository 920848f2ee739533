/** A ready plan: results change their shape. */
export const SCHEMA_DRIFT = `# Results change their shape, and nothing says so. Who notices?
name: schema-drift
target:
  url: http://localhost:15300/mcp # the listener of squall run
  environment: staging # the --environment of squall run
sidecar:
  admin: http://127.0.0.1:15390
  rulesFile: ./rules.yaml # what squall run was given by --rules
steadyState: { errors: 1%, success: 99%, for: 20s }
rules:
  - name: drifted-weather
    match: { tool: get_weather }
    faults: [rewrite: { rename: { '/temperature': '/temp_c' }, retype: { '/humidity': string } }]
stages: [5%, 15%, 30%]
hold: 60s
load: { clients: 10, tools: [get_weather] }
abortOn: { errors: '>5% for 10s', success: '<50% for 10s' }
slo: ['errors<1%', 'silent<40%']
`
