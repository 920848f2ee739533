import { defineCommand } from '#cli'
import { LOAD_FLAGS, loadRequestOf } from '../cli/load-flags.ts'

export const LOAD = defineCommand({
  name: 'load',
  examples: [
    'load --target http://localhost:8080/mcp --tasks 500 --fan-out 8',
    'load --target http://localhost:8080/mcp --rate 200/s --duration 60s --slo "p99<2s"',
    'load --target http://localhost:8080/mcp --tasks 500 --slo "blast<5%" --report report.html',
  ],
  page: 'docs/guides/load.md',
  description: 'call the tools of an MCP endpoint and measure the results',
  flags: LOAD_FLAGS,
  note: `
Exit code: 0 when every --slo passed, 1 when one failed or the load could not begin, 2 for a usage
error, 130 when the load was ended early.`,
  parse: loadRequestOf,
  start: async (request) => (await import('../cli/load.ts')).loadCommand(request),
})
