import { parseVerdictFilter } from '#admin-api'
import { defineCommand, group, many } from '#cli'
import { followed, followFlags, texts } from './tap.ts'

export const WATCH = defineCommand({
  name: 'watch',
  examples: ['watch', 'watch --verdict runaway --verdict duplicate_execution', 'watch --json'],
  page: 'docs/guides/what-the-agent-did.md',
  description:
    'watch what agents do after faults and errors, by the tasks of squall run or squall stdio',
  operands: { form: '[addresses...]', most: Infinity },
  flags: {
    ...group('Verdicts:', {
      task: many('glob', 'verdicts of this task; * and ? are wildcards; repeat it for more', texts),
      tool: many('glob', 'verdicts about calls of this tool; repeat it for more', texts),
      fault: many('glob', 'verdicts after this fault, or real; repeat it for more', texts),
      verdict: many('name', 'this verdict, such as gave_up or runaway; repeat it for more', texts),
    }),
    ...followFlags('verdict'),
  },
  note: `
Addresses are host:port or http://host:port of admin ports (default: 127.0.0.1:15390). Each verdict
appears when it is final, at most --task-window after the call. Ctrl-C ends it.`,
  // A variable for a filter would hide verdicts without a trace.
  fromEnvironment: false,
  parse: (flags, context) => followed(flags, context, parseVerdictFilter, 'watch'),
  start: async (options) => (await import('../tap/tap.ts')).watch(options),
})
