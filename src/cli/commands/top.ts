import { defineCommand } from '../flags/command.ts'
import { TOP_FLAGS } from '../top/top-flags.ts'
import { parseTop } from '../top/top-options.ts'

/** `squall top`. */
export const TOP = defineCommand({
  name: 'top',
  description:
    'watch sidecars in a terminal, by their admin ports: who is armed, what hits, whose errors',
  operands: { form: '[addresses...]', most: Infinity },
  flags: TOP_FLAGS,
  note: `
Addresses are host:port or http://host:port (default: 127.0.0.1:15390). Keys: ? shows them.
On a terminal it is a screen; elsewhere it is plain lines, one for each sidecar and second.`,
  parse: (raw, env, addresses) => parseTop(raw, env, addresses),
  start: async (options) => {
    const { top } = await import('../../lab/top/top.ts')
    return top(options)
  },
})
