import { defineCommand } from '../flags/command.ts'
import { MERGE_FLAGS } from '../load/load-flags.ts'
import { parseMerge } from '../load/merge-request.ts'

/** `squall report merge`. */
export const REPORT_MERGE = defineCommand({
  name: 'report merge',
  description: 'put the results of the shards of a load together',
  operands: { form: '[files...]', most: Infinity },
  flags: MERGE_FLAGS,
  fromEnvironment: false,
  parse: (raw, _env, files) => parseMerge(raw, files),
  start: async (request) => {
    const { mergeCommand } = await import('../load/report-merge.ts')
    return mergeCommand(request)
  },
})
