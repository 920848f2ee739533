import { MAX_DURATION_MS } from '#base'
import { rulesKey } from '../injector/value-checks.ts'
import {
  asText,
  duration,
  environmentLabelFlag,
  type FlagInput,
  group,
  invalidValue,
  one,
  operation,
  productionFlags,
  productionOf,
  type RequestOf,
  toggle,
} from '#cli'
import {
  BUDGET_FLAGS,
  CLUSTER_FLAGS,
  CONTEXTS_FLAG,
  parseObjectName,
  rolloutOf,
  UNLABELLED_FLAG,
  waitFlags,
} from '../cli/cluster-options.ts'

/** Says how to name a rules file where none is named. */
export const NEEDS_RULES = 'pass a rules file with -f, or - for standard input'

export const APPLY = operation({
  name: 'apply',
  examples: ['apply -f rules.yaml -n shop', 'apply -f rules.yaml -n shop --for 15m'],
  page: 'docs/guides/apply.md',
  description:
    'apply a rules file to the sidecars in a namespace, and wait until each has loaded it',
  flags: {
    ...group('The rules:', {
      filename: one('file', 'rules file to apply; use - for standard input', asText, {
        short: 'f',
        required: NEEDS_RULES,
      }),
      configmap: one(
        'name',
        'ConfigMap that the sidecars read; created if missing',
        parseObjectName,
        { default: 'squall-rules' },
      ),
      key: one('key', 'key to write; other keys are unchanged', parseKey, {
        default: 'rules.yaml',
      }),
      for: duration('restart the timing of all rules, and end them after this time, in every pod', {
        min: 1_000,
        max: MAX_DURATION_MS,
      }),
      force: toggle(
        'replace rules even if an experiment has claimed them, or if they are time-limited and the new rules are not',
      ),
      dryRun: toggle('print the rules to write and the affected pods, without writing anything'),
    }),
    ...CLUSTER_FLAGS,
    ...CONTEXTS_FLAG,
    ...BUDGET_FLAGS,
    ...UNLABELLED_FLAG,
    selector: {
      ...CLUSTER_FLAGS.selector,
      help: 'limit the rules to pods with these labels, as in app=shop,tier=front; written into each rule',
    },
    ...productionFlags('The cluster:'),
    ...environmentLabelFlag('The cluster:'),
    ...waitFlags('timeout for all sidecars to load the rules', '120s', {
      noWait: toggle('write the ConfigMap and annotate the pods, and do not wait'),
    }),
  },
  note: `
The command validates the file and writes it into a ConfigMap with the credentials of your kubeconfig.
The command also annotates the pods, so that the kubelet updates their volumes at once.`,
  parse: (flags, context) => ({
    ...flags,
    ...rolloutOf(flags, context),
    file: flags.filename,
    configMap: flags.configmap,
    production: productionOf(flags, context.env),
    lastsMs: flags.for,
    budget: flags,
    wait: !flags.noWait,
  }),
})

export type ApplyRequest = RequestOf<typeof APPLY>

function parseKey(given: FlagInput): string {
  const fix = rulesKey(given.text)
  if (fix === undefined) return given.text
  throw invalidValue(given, 'is not a valid key for rules', fix)
}
