import { asText, defineCommand, group, one, toggle } from '#cli'
import { readVersion } from '#base'

export const DEMO = defineCommand({
  name: 'demo',
  examples: ['demo', 'demo --stay'],
  page: 'docs/get-started/demo.md',
  description: 'run a local demo in seconds, with an MCP server, a sidecar and clients',
  flags: {
    ...group('Demo:', {
      json: toggle('print only the results, as one line of JSON'),
      stay: toggle(
        'keep server, sidecar and a light load running until Ctrl-C, with the admin page and a rules file to edit',
      ),
      report: one(
        'file',
        'file for the HTML report (default: a temporary file, or none with --json)',
        asText,
      ),
    }),
  },
  fromEnvironment: false,
  parse: (options) => options,
  start: async (options) => (await import('../demo/demo.ts')).demo(options, readVersion()),
})
