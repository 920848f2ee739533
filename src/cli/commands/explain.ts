import { isHeaderName, isToken } from '../../http/header-text.ts'
import {
  flagGroup,
  type FlagSpec,
  FlagValues,
  type Given,
  type RawFlags,
} from '../flags/flag-values.ts'
import { missingFile } from './rules.ts'
import { type LimitFlag, type RuleBounds, parseBounds } from '../run/rules-guard-options.ts'
import { RULES_RUN_FLAGS } from '../run/rules-run-flags.ts'
import { defineCommand } from '../flags/command.ts'
import { isRecord } from '../../base/values.ts'
import type { ClientInfo, Transport } from '../../mcp/call.ts'
import { isProtocolVersionDate } from '../../mcp/protocol-version.ts'
import { parseChoice } from '../flags/units.ts'
import { badCombination, badOption, badValue } from '../flags/usage-error.ts'

const LIMITS = 'Options of squall run that change the outcome:'

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
  ...flagGroup('The call or message:', {
    direction: ['sender', 'its sender, client or server (default: client)'],
    method: ['method', 'its method (default: tools/call, or that of --prompt or --resource)'],
    tool: ['name', 'its tool; with --direction server, the tool of the call to which it belongs'],
    prompt: ['name', 'its prompt'],
    resource: ['uri', 'its resource'],
    args: ['json', 'its arguments, as a JSON object'],
  }),
  ...flagGroup('The request, with a call or without:', {
    request: [
      'file',
      'recorded request, instead of a description: HTTP with its headers, a JSON-RPC message or batch, or an HTTP Archive with one entry; - is standard input',
    ],
    'http-method': ['method', 'its method, for a request without a call (default: GET)'],
    path: [
      'path',
      'its path (default: /mcp); without options about the call, the request has no call',
    ],
    header: ['name=value', 'a header; repeat it for more', { repeatable: true }],
    session: ['id', 'its session'],
    client: ['name/version', 'its client'],
    transport: ['transport', 'streamable-http or http+sse', { default: 'streamable-http' }],
    'protocol-version': ['version', 'its protocol version, such as 2025-11-25'],
  }),
  ...flagGroup(LIMITS, {
    'pod-label': [
      'key=value',
      'a label of the pod, for rules with match.podLabels; repeat it for more',
      { repeatable: true },
    ],
  }),
  ...flagGroup('Output:', {
    json: 'print JSON',
  }),
]

/** Declares the options of `squall explain`, which does not depend on environment or host. */
const EXPLAIN_FLAGS: readonly FlagSpec[] = [
  ...OWN_FLAGS,
  ...RULES_RUN_FLAGS.filter(({ name }) => LIMIT_NAMES.includes(name)).map((flag) => ({
    ...flag,
    group: LIMITS,
    help: flag.help.replace(/ \(default: .*\)$/, ''),
  })),
]

export type ExplainFlag = (typeof OWN_FLAGS)[number]['name'] | LimitFlag

export const EXPLAIN = defineCommand({
  name: 'explain',
  examples: [
    'explain rules.yaml --tool search_docs',
    'explain rules.yaml --tool search_docs --header x-team=b',
  ],
  page: 'docs/guides/explain.md',
  description:
    'show which rules of a file or directory match a call, whether they sample it, and what their faults would do',
  operands: { form: '[path]', most: 1 },
  flags: EXPLAIN_FLAGS,
  fromEnvironment: false,
  parse: (raw, _env, paths) => parseExplain(raw, paths),
  start: async (request) => (await import('../rules/explain.ts')).explainCommand(request),
})

/** The subject to explain: a call, a request without one, or a recorded request. */
export type ExplainSubject =
  | {
      readonly kind: 'call'
      readonly direction: 'client' | 'server'
      readonly method: string
      readonly name: string | undefined
      readonly args: Readonly<Record<string, unknown>> | undefined
      readonly path: string
    }
  | { readonly kind: 'http'; readonly method: string; readonly path: string }
  | { readonly kind: 'recorded'; readonly file: string }

export interface ExplainRequest extends RuleBounds {
  readonly file: string
  readonly json: boolean
  readonly subject: ExplainSubject
  readonly headers: readonly string[]
  readonly session: string | undefined
  readonly client: ClientInfo | undefined
  readonly transport: Transport
  readonly protocolVersion: string | undefined
}

type Flags = FlagValues<ExplainFlag>

const NAMED_BY = [
  ['tool', 'tools/call'],
  ['prompt', 'prompts/get'],
  ['resource', 'resources/read'],
] as const
const TRANSPORTS = ['streamable-http', 'http+sse'] as const
const OF_CALL = ['direction', 'method', 'tool', 'prompt', 'resource', 'args'] as const

function parseExplain(raw: RawFlags, files: readonly string[]): ExplainRequest {
  const flags: Flags = new FlagValues(EXPLAIN_FLAGS, raw, {})
  const [file] = files
  if (file === undefined) throw missingFile('explain')
  const subject = subjectOf(flags)
  if (subject.kind === 'recorded' && subject.file === '-' && file === '-') {
    throw badCombination('the rules and --request cannot both be standard input', 'name a file')
  }
  return {
    file,
    subject,
    json: flags.switch('json'),
    headers: flags.all('header').flatMap(headerOf),
    session: flags.optional('session')?.text,
    client: clientOf(flags.optional('client')),
    transport: parseChoice<Transport>(flags.required('transport'), TRANSPORTS),
    protocolVersion: protocolVersionOf(flags.optional('protocol-version')),
    ...boundsOf(flags),
  }
}

function boundsOf(flags: Flags): RuleBounds {
  const bounds = parseBounds(flags, {})
  const labels = flags.all('pod-label').map(labelOf)
  if (labels.length === 0) return bounds
  return { ...bounds, self: { ...bounds.self, labels: Object.fromEntries(labels) } }
}

function labelOf(given: Given): readonly [string, string] {
  const { text } = given
  const at = text.indexOf('=')
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
  throw badValue(given, 'is not a label', 'write key=value, such as app=shop')
}

function subjectOf(flags: Flags): ExplainSubject {
  const given = (names: readonly ExplainFlag[]): readonly ExplainFlag[] =>
    names.filter((name) => flags.optional(name) !== undefined)
  const [ofCall] = given(OF_CALL)
  const [ofHttp] = given(['http-method', 'path'])
  const recorded = flags.optional('request')?.text
  if (recorded !== undefined) {
    const other = ofCall ?? ofHttp
    if (other === undefined) return { kind: 'recorded', file: recorded }
    throw badCombination(`--request and --${other} exclude each other`, 'leave one of the two out')
  }
  const path = pathOf(flags.optional('path'))
  if (ofCall === undefined && ofHttp !== undefined) {
    return { kind: 'http', method: httpMethodOf(flags.optional('http-method')), path }
  }
  if (given(['http-method']).length > 0) {
    throw badCombination(
      `--http-method and --${ofCall} exclude each other`,
      'leave one out: calls are sent by POST',
    )
  }
  const named = NAMED_BY.filter(([flag]) => flags.optional(flag) !== undefined)
  if (named.length > 1) {
    const list = named.map(([flag]) => `--${flag}`).join(', ')
    throw badCombination(`${list} exclude each other`, 'use one of them')
  }
  const by = named[0]
  const method = flags.optional('method')?.text
  const sender = flags.optional('direction')
  const direction = sender === undefined ? 'client' : parseChoice(sender, ['client', 'server'])
  if (direction === 'server' && method === undefined) {
    throw badCombination('--direction server needs --method', 'add --method notifications/progress')
  }
  return {
    kind: 'call',
    path,
    direction,
    method: method ?? by?.[1] ?? 'tools/call',
    name: by === undefined ? undefined : flags.optional(by[0])?.text,
    args: argsOf(flags.optional('args')),
  }
}

function pathOf(given: Given | undefined): string {
  if (given === undefined) return '/mcp'
  if (/^\/[\x21-\x7e]*$/.test(given.text)) return given.text
  throw badValue(given, 'is not a path', 'write a path such as /health')
}

function httpMethodOf(given: Given | undefined): string {
  if (given === undefined) return 'GET'
  if (isToken(given.text, 64)) return given.text
  throw badValue(given, 'is not an HTTP method', 'write a method such as GET')
}

function headerOf({ text }: Given): string[] {
  const at = text.indexOf('=')
  if (at < 1 || !isHeaderName(text.slice(0, at))) {
    // The text may be a secret, so it is not repeated.
    throw badOption('--header', 'not a header', 'write name=value')
  }
  return [text.slice(0, at), text.slice(at + 1)]
}

function argsOf(given: Given | undefined): Readonly<Record<string, unknown>> | undefined {
  if (given === undefined) return undefined
  let value: unknown
  try {
    value = JSON.parse(given.text)
  } catch {
    value = undefined
  }
  if (!isRecord(value)) {
    throw badOption('--args', 'not a JSON object', `write '{"city":"Bern"}'`)
  }
  return value
}

function clientOf(given: Given | undefined): ClientInfo | undefined {
  if (given === undefined) return undefined
  // Names may have slashes, versions have none.
  const at = given.text.lastIndexOf('/')
  if (at < 0) return { name: given.text, version: '' }
  return { name: given.text.slice(0, at), version: given.text.slice(at + 1) }
}

function protocolVersionOf(given: Given | undefined): string | undefined {
  if (given === undefined || isProtocolVersionDate(given.text)) return given?.text
  throw badValue(given, 'is not a protocol version', 'write its date, such as 2025-11-25')
}
