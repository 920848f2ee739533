import {
  flagGroup,
  type Environment,
  FlagValues,
  type Given,
  type RawFlags,
} from '../flags/flag-values.ts'
import { environmentLabelFlag, parseProduction, productionFlags } from '../flags/production.ts'
import { CLUSTER_FLAGS, objectName, parseCluster } from '../kube/cluster-options.ts'
import { defineCommand } from '../flags/command.ts'
import { ATTACHED_FOR } from './attached.ts'
import { parseChoice, parseDuration } from '../flags/units.ts'
import { badOption, missing } from '../flags/usage-error.ts'
import { readVersion } from '../version.ts'

const WAITING = 'Waiting and output:'
const JSON_FLAG = flagGroup(WAITING, { json: 'print the outcome as one JSON document' })
// The pod is named, so there is no selector.
const POD_FLAGS = CLUSTER_FLAGS.filter(({ name }) => name !== 'selector') as unknown as Exclude<
  (typeof CLUSTER_FLAGS)[number],
  { readonly name: 'selector' }
>[]

const ATTACH_FLAGS = [
  ...flagGroup('The rules:', {
    filename: ['file', 'rules file, of at most 64KiB; - is standard input', { short: 'f' }],
  }),
  ...flagGroup('The sidecar:', {
    for: [
      'duration',
      'time after which the sidecar detaches by itself, at most 24h',
      { default: '15m' },
    ],
    port: [
      'port',
      'port of the app, by number or name (default: the only TCP port that the pod declares)',
    ],
    image: ['image', 'image of Squall (default: squall: and the version of this program)'],
    'image-pull-policy': ['policy', 'Always, IfNotPresent or Never'],
  }),
  ...POD_FLAGS,
  ...productionFlags('The cluster:'),
  ...environmentLabelFlag('The cluster:'),
  ...flagGroup(WAITING, {
    timeout: [
      'duration',
      'how long to wait until traffic is redirected; a container that starts later does nothing',
      { default: '60s' },
    ],
  }),
  ...JSON_FLAG,
]

const DETACH_FLAGS = [
  ...POD_FLAGS,
  ...flagGroup(WAITING, {
    timeout: ['duration', 'how long to wait until the sidecar has ended', { default: '60s' }],
  }),
  ...JSON_FLAG,
]

type DetachFlag = (typeof DETACH_FLAGS)[number]['name']

export const ATTACH = defineCommand({
  name: 'attach',
  examples: [
    'attach mcp-server-7d4b9c6f5-2xk8q -n shop -f rules.yaml --for 15m',
    'attach mcp-server-7d4b9c6f5-2xk8q -n shop -f rules.yaml --for 5m --json',
  ],
  page: 'docs/guides/attach.md',
  description: 'add the sidecar to a running pod, for a limited time, without a restart',
  flags: ATTACH_FLAGS,
  operands: { form: '<pod>', most: 1 },
  note: `
An ephemeral container redirects the port to itself until its time has passed, it ends for any reason,
or squall detach ends it. Open connections stay with the app.`,
  parse: parseAttach,
  start: async (request) => (await import('../kube/attach.ts')).attachCommand(request),
})

export const DETACH = defineCommand({
  name: 'detach',
  examples: [
    'detach mcp-server-7d4b9c6f5-2xk8q -n shop',
    'detach mcp-server-7d4b9c6f5-2xk8q -n shop --json',
  ],
  page: 'docs/guides/attach.md',
  description: 'end the sidecar that squall attach added to a pod',
  flags: DETACH_FLAGS,
  operands: { form: '<pod>', most: 1 },
  parse: parseDetach,
  start: async (request) => (await import('../kube/attach.ts')).detachCommand(request),
})

export type AttachRequest = ReturnType<typeof parseAttach>

export type DetachRequest = ReturnType<typeof podOf>

const PORT = /^(?:\d{1,5}|[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?)$/
const POLICIES = ['Always', 'IfNotPresent', 'Never'] as const
const TIMEOUT = { min: 1_000, max: 600_000 }

function parseAttach(raw: RawFlags, env: Environment, operands: readonly string[]) {
  const flags = new FlagValues(ATTACH_FLAGS, raw, env)
  const file = flags.optional('filename')
  if (file === undefined) {
    const fix = 'name one with -f, or - for standard input'
    throw missing('no rules file', fix)
  }
  const port = flags.optional('port')
  if (port !== undefined && !PORT.test(port.text)) {
    const fix = 'write its number, or its name as the pod declares it'
    throw badOption(port.source, 'not a port', fix)
  }
  return {
    ...podOf(operands, flags, env),
    file: file.text,
    forMs: parseDuration(flags.required('for'), ATTACHED_FOR),
    port: port?.text,
    image: flags.optional('image')?.text ?? `squall:${readVersion()}`,
    pullPolicy: flags.parsed('image-pull-policy', (given) => parseChoice(given, POLICIES)),
    /** Undefined where production is allowed. */
    production: parseProduction(flags, env),
    environment: flags.optional('environment')?.text,
    environmentLabel: flags.required('environment-label').text,
  }
}

function parseDetach(raw: RawFlags, env: Environment, operands: readonly string[]) {
  return podOf(operands, new FlagValues(DETACH_FLAGS, raw, env), env)
}

function podOf([pod]: readonly string[], flags: FlagValues<DetachFlag>, env: Environment) {
  if (pod === undefined) {
    throw missing('no pod', 'name one: kubectl get pods')
  }
  const named: Given = { text: pod.replace(/^pods?\//, ''), source: 'the pod' }
  return {
    pod: objectName(named),
    cluster: parseCluster(flags as FlagValues<never>, env),
    timeoutMs: parseDuration(flags.required('timeout'), TIMEOUT),
    json: flags.switch('json'),
  }
}
