import { defineCommand } from '../flags/command.ts'
import { LOAD_FLAGS } from '../load/load-flags.ts'
import { parseLoad } from '../load/load-request.ts'

/** `squall load`. */
export const LOAD = defineCommand({
  name: 'load',
  description: 'call the tools of an MCP endpoint and measure what comes of it',
  flags: LOAD_FLAGS,
  note: `
Exit code: 0 when every --slo held, 1 when one was breached or the load could not begin, 2 for bad
usage, 130 when it was ended early. Example:
  squall load --target http://localhost:8080/mcp --rate 200/s --duration 60s --slo "p99<2s"`,
  parse: (raw, env) => parseLoad(raw, env),
  start: async (request) => {
    const { loadCommand } = await import('../load/load.ts')
    return loadCommand(request)
  },
})
