import { VERDICTS } from '../experiment/verdicts.ts'
import { asText, count, group, missing, one, oneOf, operation, toggle } from '#cli'

export const STORAGE = 'Storage:'
export const PAGE = 'docs/guides/experiments.md'

export const EXPERIMENTS = group(STORAGE, {
  experiments: one('directory', 'directory of the experiment history and reports', asText, {
    default: 'experiments',
  }),
})

export const JSON_OUT = group('Output:', {
  json: toggle('print JSON to standard output, and only errors to standard error'),
})

export const RUN_OPERAND = { form: '<run>', most: 1 }
const RUN_FORM = 'run to use: last, or an ID or ID prefix from squall experiment list'

/** Returns the run that a command names. Throws a `UsageError`. */
export function runOf([id]: readonly string[]): string {
  if (id === undefined) throw missing('no run', `name ${RUN_FORM}`)
  return id
}

export const EXPERIMENT_LIST = operation({
  name: 'experiment list',
  examples: ['experiment list --limit 10', 'experiment list --verdict failed --json'],
  page: PAGE,
  description: 'list past experiments, optionally of one plan, newest last',
  operands: { form: '[plan]', most: 1 },
  flags: {
    ...EXPERIMENTS,
    ...group('Runs:', {
      verdict: one(
        'verdict',
        `list only runs with this verdict: ${VERDICTS.join(', ')}`,
        oneOf(VERDICTS),
      ),
      limit: count('number of most recent runs to list', { min: 1, max: 100_000 }),
    }),
    ...JSON_OUT,
  },
  parse: ({ limit: last, ...flags }, { operands: [name] }) => ({ ...flags, name, last }),
})

export const EXPERIMENT_SHOW = operation({
  name: 'experiment show',
  examples: ['experiment show last', 'experiment show 20261125-1804 --json'],
  page: PAGE,
  description: 'show the result of a past run: verdict, events, phases and gate margins',
  operands: RUN_OPERAND,
  flags: { ...EXPERIMENTS, ...JSON_OUT },
  parse: (flags, { operands }) => ({ id: runOf(operands), ...flags }),
})

const MOST_COMPARED = 10

export const EXPERIMENT_COMPARE = operation({
  name: 'experiment compare',
  examples: [
    'experiment compare 20261124 last',
    'experiment compare 20261124 last --report compared.html',
  ],
  page: PAGE,
  description: 'compare past runs with the first run, phase by phase',
  operands: { form: '<runs...>', most: MOST_COMPARED },
  flags: {
    ...EXPERIMENTS,
    ...JSON_OUT,
    ...group('Output:', { report: one('file', 'write an HTML report', asText) }),
  },
  parse: (flags, { operands: ids }) => {
    if (ids.length < 2) throw missing('at least two runs are required', `name ${RUN_FORM}, each`)
    return { ids, ...flags }
  },
})

export const EXPERIMENT_CATALOG = operation({
  name: 'experiment catalog',
  examples: ['experiment catalog', 'experiment catalog latency > plan.yaml'],
  page: PAGE,
  description: 'list the ready-made plans, or print one',
  operands: { form: '[name]', most: 1 },
  flags: {},
  parse: (_flags, { operands: [name] }) => name,
})
