import type { DemoOptions } from '../../lab/demo/demo.ts'
import type { DemoProgram } from '../../lab/demo/stage.ts'
import { defineCommand } from '../flags/command.ts'
import { flagGroup, FlagValues, type RawFlags, type Environment } from '../flags/flag-values.ts'
import { readVersion } from '../version.ts'

const FLAGS = flagGroup('Demo:', {
  json: 'print the results as one line of JSON, and nothing else',
  stay: 'keep the app, the sidecar and a light load running until Ctrl-C, with the admin page and a rules file to edit',
  report: ['file', 'HTML report to write (default: a temporary file, and none with --json)'],
})

export const DEMO = defineCommand({
  name: 'demo',
  examples: ['demo', 'demo --stay'],
  page: 'docs/get-started/demo.md',
  description:
    'see Squall work on this machine in seconds: an app, a sidecar in front of it, and clients',
  flags: FLAGS,
  parse: parseDemoOptions,
  start: async (options) => {
    const { demo } = await import('../../lab/demo/demo.ts')
    return demo(options, DEMO_PROGRAM)
  },
})

function parseDemoOptions(raw: RawFlags, env: Environment): DemoOptions {
  const flags = new FlagValues<(typeof FLAGS)[number]['name']>(FLAGS, raw, env)
  return {
    json: flags.switch('json'),
    stay: flags.switch('stay'),
    report: flags.optional('report')?.text,
  }
}

/** Starts Squall for the demo. */
export const DEMO_PROGRAM: DemoProgram = {
  get version() {
    return readVersion()
  },
  startSidecar: async (flags, logger) => {
    const { assemble } = await import('../run/assemble.ts')
    const { parseRunOptions } = await import('./run.ts')
    const raw = new Map(Object.entries(flags).map(([name, value]) => [name, [value]]))
    return assemble(parseRunOptions(raw, {}), logger)
  },
}
