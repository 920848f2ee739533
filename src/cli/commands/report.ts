import { defineCommand } from '../flags/command.ts'
import { REPORT_FLAGS } from '../report/report-flags.ts'
import { parseReport } from '../report/report-request.ts'

/** `squall report html`. */
export const REPORT_HTML = defineCommand({
  name: 'report html',
  description: 'show results of squall load as one HTML file, several beside each other',
  operands: { form: '[files...]', most: Infinity },
  flags: REPORT_FLAGS,
  fromEnvironment: false,
  parse: (raw, _env, files) => parseReport(raw, files),
  start: async (request) => {
    const { reportCommand } = await import('../report/report.ts')
    return reportCommand(request, 'html')
  },
})

/** `squall report markdown`. */
export const REPORT_MARKDOWN = defineCommand({
  name: 'report markdown',
  description: 'show results of squall load on one page of Markdown',
  operands: { form: '[files...]', most: Infinity },
  flags: REPORT_FLAGS,
  fromEnvironment: false,
  parse: (raw, _env, files) => parseReport(raw, files),
  start: async (request) => {
    const { reportCommand } = await import('../report/report.ts')
    return reportCommand(request, 'markdown')
  },
})
