import type { DemoOptions, DemoProgram } from '../../lab/demo/demo-options.ts'
import { defineCommand } from '../flags/command.ts'
import { DEMO_FLAGS, type DemoFlag } from '../flags/flag-table.ts'
import { type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { readVersion } from '../version.ts'

/** `squall demo`. */
export const DEMO = defineCommand({
  name: 'demo',
  description: 'see it work on this machine in seconds: an app, Squall in front of it, and clients',
  flags: DEMO_FLAGS,
  parse: (raw, env) => parseDemoOptions(raw, env),
  start: async (options) => {
    const { demo } = await import('../../lab/demo/demo.ts')
    return demo(options, DEMO_PROGRAM)
  },
})

/** Checks the command line and the environment. Throws nothing but a `UsageError`. */
function parseDemoOptions(raw: RawFlags, env: Environment): DemoOptions {
  const flags = new FlagValues<DemoFlag>(DEMO_FLAGS, raw, env)
  return {
    json: flags.switch('json'),
    stay: flags.switch('stay'),
    report: flags.optional('report')?.text,
  }
}

/** Squall as the demo runs it. */
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
