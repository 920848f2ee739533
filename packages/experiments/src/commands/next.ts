import { LABEL_NAME, PROMQL_DURATION } from '../slo/series.ts'
import {
  asText,
  count,
  type FlagInput,
  group,
  invalidValue,
  many,
  one,
  operation,
  pairs,
  parseEndpoints,
  readTokenFlag,
  readTokenOf,
} from '#cli'
import { parseTarget, targetFlag } from '../cli/server-flags.ts'
import { EXPERIMENTS, JSON_OUT } from './past-experiments.ts'

const EVIDENCE = 'Evidence:'
const PLANS = 'Plans:'

export const EXPERIMENT_NEXT = operation({
  name: 'experiment next',
  examples: [
    'experiment next --target http://127.0.0.1:15300/mcp --plans next',
    'experiment next --target http://127.0.0.1:15300/mcp --prometheus http://127.0.0.1:9090 --label namespace=shop --json',
  ],
  page: 'docs/guides/what-next.md',
  description:
    'recommend what to test next, ranked by traffic, past tests and changes, with reasons and plans',
  flags: {
    ...targetFlag(EVIDENCE),
    ...group(EVIDENCE, {
      sidecar: one(
        'address',
        'admin port of the sidecar, as host:port',
        ({ text }) => parseEndpoints([text])[0]!,
        { default: '127.0.0.1:15390' },
      ),
      prometheus: one(
        'url',
        'URL of the Prometheus server with the baseline (default: earlier runs of this command)',
        parseTarget,
      ),
      label: many(
        'name=value',
        'label that selects the series in Prometheus, such as namespace=shop; repeatable',
        parseLabels,
      ),
      usual: one('duration', 'time range of the baseline in Prometheus', parseRange, {
        default: '7d',
      }),
      monitorTokenFile: one(
        'file',
        'file with a bearer token for Prometheus (or set SQUALL_MONITOR_TOKEN)',
        asText,
      ),
    }),
    ...readTokenFlag(EVIDENCE),
    ...EXPERIMENTS,
    ...group(PLANS, {
      limit: count('number of tests to list', { min: 1, max: 1000 }, '5'),
      plans: one('directory', 'directory to write a plan for each test to', asText),
      rules: one('file', 'rules file of the sidecar, for the plans', asText, {
        default: 'rules.yaml',
      }),
      policy: one('file', 'policy that limits the plans', asText),
    }),
    ...JSON_OUT,
  },
  parse: ({ prometheus: url, label: labels, usual, rules, ...flags }, { env }) => {
    return {
      ...flags,
      rulesFile: rules,
      prometheus: url && { url, labels, over: usual },
      readToken: readTokenOf(flags.adminReadTokenFile, env),
      monitorToken: env['SQUALL_MONITOR_TOKEN'],
    }
  },
})

function parseLabels(all: readonly FlagInput[]): Readonly<Record<string, string>> {
  for (const given of all) {
    const [name = ''] = given.text.split('=', 1)
    if (new RegExp(LABEL_NAME).test(name)) continue
    throw invalidValue(given, 'must begin with a label name', 'use a form such as namespace=shop')
  }
  return pairs(all)
}

function parseRange(given: FlagInput): string {
  if (new RegExp(PROMQL_DURATION).test(given.text)) return given.text
  throw invalidValue(given, 'is not a valid PromQL duration', 'use a duration such as 7d or 12h')
}
