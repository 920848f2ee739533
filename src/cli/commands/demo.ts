import type { DemoProgram } from '../../lab/demo/stage.ts'
import { defineCommand } from '../flags/command.ts'
import { group } from '../flags/flag.ts'
import { asText, one, toggle } from '../flags/kinds.ts'
import { readVersion } from '../version.ts'

export const DEMO = defineCommand({
  name: 'demo',
  examples: ['demo', 'demo --stay'],
  page: 'docs/get-started/demo.md',
  description:
    'see Squall work on this machine in seconds: an MCP server, a sidecar in front of it, and clients',
  flags: {
    ...group('Demo:', {
      json: toggle('print the results as one line of JSON, and nothing else'),
      stay: toggle(
        'keep the MCP server, the sidecar and a light load running until Ctrl-C, with the admin page and a rules file to edit',
      ),
      report: one(
        'file',
        'HTML report to write (default: a temporary file, and none with --json)',
        asText,
      ),
    }),
  },
  fromEnvironment: false,
  parse: (options) => options,
  start: async (options) => (await import('../../lab/demo/demo.ts')).demo(options, DEMO_PROGRAM),
})

/** Starts Squall for the demo. */
export const DEMO_PROGRAM: DemoProgram = {
  get version() {
    return readVersion()
  },
  startSidecar: async (flags, logger) => {
    const { assemble } = await import('../run/assemble.ts')
    const { parseRunOptions } = await import('../run/run-options.ts')
    const raw = new Map(Object.entries(flags).map(([name, value]) => [name, [value]]))
    return assemble(parseRunOptions(raw, {}), logger)
  },
}
