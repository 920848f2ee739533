import { defineCommand } from '../flags/command.ts'
import { parseDemoOptions } from '../demo-options.ts'
import { DEMO_FLAGS } from '../flags/flag-table.ts'

/** `squall demo`. */
export const DEMO = defineCommand({
  name: 'demo',
  description: 'see it work on this machine in seconds: an app, Squall in front of it, and clients',
  flags: DEMO_FLAGS,
  parse: (raw, env) => parseDemoOptions(raw, env),
  start: async (options) => {
    const { demo } = await import('../../lab/demo/demo.ts')
    return demo(options)
  },
})
