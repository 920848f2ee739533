import { DEMO_FLAGS, type DemoFlag } from './flags/flag-table.ts'
import { type Environment, FlagValues, type RawFlags } from './flags/flag-values.ts'

/** Everything `squall demo` was told. */
export interface DemoOptions {
  /** Print the results as JSON, and nothing else. */
  readonly json: boolean
  /** Keep app and sidecar running until told to stop. */
  readonly stay: boolean
  /** Where the report is to be written. */
  readonly report: string | undefined
}

/** Checks what the command line and the environment say. Throws nothing but a `UsageError`. */
export function parseDemoOptions(raw: RawFlags, env: Environment): DemoOptions {
  const flags = new FlagValues<DemoFlag>(DEMO_FLAGS, raw, env)
  return {
    json: flags.switch('json'),
    stay: flags.switch('stay'),
    report: flags.optional('report')?.text,
  }
}
