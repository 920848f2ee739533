import { flagGroup, type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { environmentLabelFlag, parseProduction, productionFlags } from '../flags/production.ts'
import { CLUSTER_FLAGS, objectName, parseCluster } from '../kube/cluster-options.ts'
import { defineCommand } from '../flags/command.ts'
import { MAX_DURATION_MS } from '../../base/units.ts'
import { parseDuration } from '../flags/units.ts'
import { STOP_KEY } from '../../rules/guard/stop-key.ts'
import { badValue, missing } from '../flags/usage-error.ts'

const SELECTOR =
  'rules act only in pods with these labels, as in app=shop,tier=front; written into each rule'

const APPLY_FLAGS = [
  ...flagGroup('The rules:', {
    filename: ['file', 'rules file to apply; - is standard input', { short: 'f' }],
    configmap: [
      'name',
      'ConfigMap that the sidecars read; created if missing',
      { default: 'squall-rules' },
    ],
    key: ['key', 'key to write; other keys stay unchanged', { default: 'rules.yaml' }],
    for: ['duration', 'ends all rules after this time, in every pod; their times begin again now'],
    'dry-run': 'print what would be written and the pods in which it would act, and write nothing',
  }),
  ...CLUSTER_FLAGS.map((flag) => (flag.name === 'selector' ? { ...flag, help: SELECTOR } : flag)),
  ...productionFlags('The cluster:'),
  ...environmentLabelFlag('The cluster:'),
  ...flagGroup('Waiting and output:', {
    timeout: [
      'duration',
      'how long to wait until every sidecar has the rules',
      { default: '120s' },
    ],
    'no-wait': 'write the ConfigMap and annotate the pods, and do not wait',
    json: 'print the outcome as one JSON document',
  }),
]

export const APPLY = defineCommand({
  name: 'apply',
  examples: ['apply -f rules.yaml -n shop', 'apply -f rules.yaml -n shop --for 15m'],
  page: 'docs/guides/apply.md',
  description: 'write a rules file for the sidecars of a namespace, and wait until each has it',
  flags: APPLY_FLAGS,
  note: `
The file is checked first. With the credentials of your kubeconfig it is written into a ConfigMap;
pods are annotated so that the kubelet delivers it at once.`,
  parse: parseApply,
  start: async (request) => (await import('../kube/apply.ts')).applyCommand(request),
})

export type ApplyRequest = ReturnType<typeof parseApply>

const KEY = /^(?!\.\.)[-_A-Za-z0-9.]{1,253}$/
const LASTS = { min: 1_000, max: MAX_DURATION_MS }
const TIMEOUT = { min: 1_000, max: 3_600_000 }

function parseApply(raw: RawFlags, env: Environment) {
  const flags = new FlagValues(APPLY_FLAGS, raw, env)
  const file = flags.optional('filename')
  if (file === undefined) {
    throw missing('no rules file', 'name one with -f, or - for standard input')
  }
  const key = flags.required('key')
  if (!KEY.test(key.text) || key.text === STOP_KEY) {
    throw badValue(
      key,
      'is not a key for rules',
      'use letters, digits, dots and dashes, such as rules.yaml',
    )
  }
  return {
    file: file.text,
    configMap: objectName(flags.required('configmap')),
    key: key.text,
    cluster: parseCluster(flags, env),
    /** Undefined where production is allowed. */
    production: parseProduction(flags, env),
    environmentLabel: flags.required('environment-label').text,
    /** The time from now after which no rule acts. */
    lastsMs: flags.parsed('for', (given) => parseDuration(given, LASTS)),
    dryRun: flags.switch('dry-run'),
    timeoutMs: parseDuration(flags.required('timeout'), TIMEOUT),
    wait: !flags.switch('no-wait'),
    json: flags.switch('json'),
  }
}
