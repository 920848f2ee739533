import type { FlagSpec } from '../flags/flag-table.ts'
import type { LimitFlag } from '../run/rules-guard-options.ts'
import { RULES_RUN_FLAGS } from '../run/rules-run-flags.ts'

const OUTPUT = 'Output:'
const CALL = 'The call:'
const EXCHANGE = 'The request, with a call or without:'
const LIMITS = 'Options of squall run that change the outcome:'

/** The options of `squall validate`. */
export const VALIDATE_FLAGS = [
  { name: 'json', group: OUTPUT, help: 'the same as --format json' },
  {
    name: 'format',
    value: 'format',
    group: OUTPUT,
    help: 'text, json, or github for annotations (default: text)',
  },
] as const satisfies readonly FlagSpec[]

/** The options of `squall schema`. */
export const SCHEMA_FLAGS = [
  { name: 'experiment', group: OUTPUT, help: 'that of the plans of squall experiment' },
] as const satisfies readonly FlagSpec[]

const LIMIT_NAMES: readonly string[] = [
  'pod',
  'workload',
  'environment',
  'allow-production',
  'production-names',
  'max-percent',
  'max-duration',
  'allow-faults',
  'deny-tools',
  'exclude-paths',
  'dry-run',
] satisfies readonly LimitFlag[]

const OWN_FLAGS = [
  {
    name: 'method',
    value: 'method',
    group: CALL,
    help: 'its method (default: tools/call, or what --prompt or --resource stand for)',
  },
  { name: 'tool', value: 'name', group: CALL, help: 'the tool that it calls' },
  { name: 'prompt', value: 'name', group: CALL, help: 'the prompt that it gets' },
  { name: 'resource', value: 'uri', group: CALL, help: 'the resource that it reads' },
  { name: 'args', value: 'json', group: CALL, help: 'its arguments, as a JSON object' },
  {
    name: 'request',
    value: 'file',
    group: EXCHANGE,
    help: 'one that was recorded, in the place of a description: HTTP with its head, a JSON-RPC message or batch alone, or an HTTP Archive with one entry; - is standard input',
  },
  {
    name: 'http-method',
    value: 'method',
    group: EXCHANGE,
    help: 'of a request without a call (default: GET)',
  },
  {
    name: 'path',
    value: 'path',
    group: EXCHANGE,
    help: 'its path (default: /mcp); without any option about a call, there is none in it',
  },
  {
    name: 'header',
    value: 'name=value',
    repeatable: true,
    group: EXCHANGE,
    help: 'a header of its request; repeat it for more',
  },
  { name: 'session', value: 'id', group: EXCHANGE, help: 'its session' },
  { name: 'client', value: 'name/version', group: EXCHANGE, help: 'the client that makes it' },
  {
    name: 'transport',
    value: 'transport',
    default: 'streamable-http',
    group: EXCHANGE,
    help: 'streamable-http or http+sse',
  },
  {
    name: 'protocol-version',
    value: 'version',
    group: EXCHANGE,
    help: 'its protocol version, as 2025-11-25',
  },
  {
    name: 'pod-label',
    value: 'key=value',
    repeatable: true,
    group: LIMITS,
    help: 'a label of the pod, for rules with match.podLabels; repeat it for more',
  },
  { name: 'json', group: OUTPUT, help: 'print JSON' },
] as const satisfies readonly FlagSpec[]

/** The options of `squall explain`. It reads neither the environment nor the host. */
export const EXPLAIN_FLAGS: readonly FlagSpec[] = [
  ...OWN_FLAGS,
  ...RULES_RUN_FLAGS.filter(({ name }) => LIMIT_NAMES.includes(name)).map((flag) => ({
    ...flag,
    group: LIMITS,
    help: flag.help.replace(/ \(default: .*\)$/, ''),
  })),
]

/** The name of an option of `squall validate`. */
export type ValidateFlag = (typeof VALIDATE_FLAGS)[number]['name']

/** The name of an option of `squall explain`. */
export type ExplainFlag = (typeof OWN_FLAGS)[number]['name'] | LimitFlag
