import type { DemoProgram } from '../../lab/demo/stage.ts'
import { defineCommand } from '../flags/command.ts'
import { group } from '../flags/flag.ts'
import { asText, count, one, oneOf, toggle } from '../flags/kinds.ts'
import { invalidCombination } from '../flags/usage-error.ts'
import { readVersion } from '../version.ts'

/** The options that only --like reads. */
const LIKE_FLAGS = ['seed', 'tasks', 'call-log'] as const

export const DEMO = defineCommand({
  name: 'demo',
  examples: ['demo', 'demo --stay', 'demo --like mcp-chaos --seed 42'],
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
        'HTML report to write (default: a temporary file, and none with --json or --like)',
        asText,
      ),
    }),
    ...group('The demo of another tool:', {
      like: one('tool', 'run the demo of mcp-chaos over real connections', oneOf(['mcp-chaos'])),
      seed: count('seed of the fault plan', { min: 0, max: 2 ** 32 - 1 }, '42'),
      tasks: count('tasks of eight calls each', { min: 1, max: 400 }, '200'),
      callLog: one('file', 'file for a line of JSON for each call', asText),
    }),
  },
  fromEnvironment: false,
  parse: (options, { names }) => {
    const { like } = options
    const alone = LIKE_FLAGS.find((flag) => names(flag))
    if (like === undefined && alone !== undefined) {
      throw invalidCombination(`--${alone} needs --like`, 'add --like mcp-chaos')
    }
    if (like !== undefined && options.stay) {
      throw invalidCombination('--stay does not fit --like', 'leave out one of them')
    }
    return options
  },
  start: async (options) => {
    if (options.like !== undefined) {
      const { likeMcpChaos } = await import('../../lab/demo/mcp-chaos/like-mcp-chaos.ts')
      return likeMcpChaos(options, DEMO_PROGRAM)
    }
    const { demo } = await import('../../lab/demo/demo.ts')
    return demo(options, DEMO_PROGRAM)
  },
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
