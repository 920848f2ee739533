import { defineCommand } from '../flags/command.ts'
import { RUN_FLAGS } from '../flags/flag-table.ts'
import { parseRunOptions } from '../run/run-options.ts'
import { readTlsFiles } from '../run/tls-files.ts'

/** `squall run`. */
export const RUN = defineCommand({
  name: 'run',
  description: 'take traffic on one address and pass it to the app on another',
  flags: RUN_FLAGS,
  note: `
Each option can also be given as an environment variable: --max-header-size as SQUALL_MAX_HEADER_SIZE, switches
as true or false, repeated options separated by commas. The command line wins.
Sizes: 1024, 64KiB, 4MiB. Durations: 300ms, 5s, 10m, 1h.`,
  parse: (raw, env) => parseRunOptions(raw, env),
  start: async (options) => {
    readTlsFiles(options)
    const { run } = await import('../run/run.ts')
    return run(options)
  },
})
