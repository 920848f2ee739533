import { parseAgentsFilter, parseVerdictFilter } from '#admin-api'
import {
  asText,
  type Context,
  group,
  invalidCombination,
  many,
  one,
  operation,
  type RequestOf,
  toggle,
  type Values,
} from '#cli'
import { followed, followFlags, texts } from './tap.ts'

const FOUND = {
  ...group('Findings:', {
    client: many(
      'glob',
      'show only findings about this client; * and ? are wildcards; repeatable',
      texts,
    ),
    since: one(
      'time',
      'show only findings since this time, or within this duration, such as 10m',
      asText,
    ),
    all: toggle('show all findings, not only the 20 most harmful'),
  }),
  ...group('Comparison:', {
    save: one('file', 'file to write all findings to, for a later --against', asText),
    against: one(
      'file',
      'findings file from --save to compare with; the exit code is 1 if a finding is new or worse',
      asText,
    ),
  }),
  ...group('Report:', {
    markdown: toggle('print Markdown'),
    html: toggle('print one HTML page'),
    out: one('file', 'file to write (default: standard output)', asText, { short: 'o' }),
  }),
}
const FOLLOWED = group('Following:', {
  follow: toggle('show each verdict live, as it becomes final'),
  task: many('glob', 'with --follow: show only verdicts about this task; repeatable', texts),
  tool: many(
    'glob',
    'with --follow: show only verdicts about calls of this tool; repeatable',
    texts,
  ),
  fault: many(
    'glob',
    'with --follow: show only verdicts after this fault, or real for real errors; repeatable',
    texts,
  ),
  verdict: many(
    'name',
    'with --follow: show only verdicts of this type, such as gave_up; repeatable',
    texts,
  ),
})
const FLAGS = {
  ...FOUND,
  ...FOLLOWED,
  ...followFlags(
    'verdicts',
    'print the findings as one line of JSON, or with --follow each verdict as a line',
    'with --follow: exit after this number of verdicts',
  ),
}
const FILTERS = ['task', 'tool', 'fault', 'verdict', 'limit'] as const

export const AGENTS = operation({
  name: 'agents',
  examples: [
    'agents',
    'agents --client "my-agent*" --since 10m --markdown -o agents.md',
    'agents --save before.json',
    'agents --against before.json',
    'agents --follow --verdict runaway',
  ],
  page: 'docs/guides/evaluate-agents.md',
  description:
    'report what agents did wrong after faults and errors, with advice; compare reports, or follow verdicts live',
  operands: { form: '[addresses...]', most: Infinity },
  flags: FLAGS,
  note: `
Addresses are host:port or http://host:port of admin ports (default: 127.0.0.1:15390). Findings need
squall run or squall stdio with --tasks, the default. With --follow, Ctrl-C stops it.`,
  // A variable for a filter would hide findings without a trace.
  fromEnvironment: false,
  parse: (flags, context) => (flags.follow ? following(flags, context) : found(flags, context)),
})

export type AgentsRequest = Extract<RequestOf<typeof AGENTS>, { readonly follows: false }>

function following(flags: Values<typeof FLAGS>, context: Context) {
  const wrong = Object.keys(FOUND).find((name) => context.names(name))
  if (wrong !== undefined) {
    throw invalidCombination(`--follow and --${wrong} are mutually exclusive`, 'remove one of them')
  }
  const { task, tool, fault, verdict, json, limit, adminReadTokenFile } = flags
  const given = { task, tool, fault, verdict, json, limit, adminReadTokenFile }
  return { ...followed(given, context, parseVerdictFilter, 'agents'), follows: true } as const
}

function found(flags: Values<typeof FLAGS>, context: Context) {
  const wrong = FILTERS.find((name) => context.names(name))
  if (wrong !== undefined) {
    throw invalidCombination(`--${wrong} selects verdicts of --follow`, 'add --follow')
  }
  const { client, since, all, save, against, markdown, html, out, json, adminReadTokenFile } = flags
  if ([markdown, html, json].filter(Boolean).length > 1) {
    throw invalidCombination('--json, --markdown and --html are mutually exclusive', 'name one')
  }
  const given = { client, since, json, limit: undefined, adminReadTokenFile }
  const form = markdown ? 'markdown' : html ? 'html' : json ? 'json' : 'text'
  const asked = followed(given, context, parseAgentsFilter, 'agents')
  return { ...asked, form, all, save, against, out, follows: false } as const
}
