import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { isRecord, parsedJson } from '../../base/values.ts'
import { parseDestination } from '../../http/address.ts'
import { isHeaderName, isToken } from '../../http/header-text.ts'
import { type ClientInfo, TRANSPORTS } from '../../mcp/call.ts'
import { isProtocolVersionDate } from '../../mcp/protocol-version.ts'
import type { Destination } from '../../rules/match/call-facts.ts'
import { operation, type RequestOf } from '../flags/command.ts'
import { type FlagInput, group, type Values } from '../../base/flags/flag.ts'
import { asText, many, one, oneOf, pairs, toggle } from '../../base/flags/kinds.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import {
  invalidCombination,
  invalidFile,
  invalidOption,
  invalidValue,
} from '../../base/flags/usage-error.ts'
import { boundsOf, LIMIT_FLAGS } from '../../sidecar/rules-options.ts'
import { missingFile } from './validate.ts'

const LIMITS = 'Options of squall run that change the outcome:'

/** The limits, without the defaults that depend on environment or host. */
const BOUNDS = group(
  LIMITS,
  Object.fromEntries(
    Object.entries(LIMIT_FLAGS).map(([name, flag]) => [
      name,
      { ...flag, help: flag.help.replace(/ \(default: .*\)$/, '') },
    ]),
  ) as typeof LIMIT_FLAGS,
) as typeof LIMIT_FLAGS

const FLAGS = {
  ...group('The call or message:', {
    direction: one(
      'sender',
      'sender of the message: client or server (default: client)',
      oneOf(['client', 'server']),
    ),
    method: one(
      'method',
      'JSON-RPC method (default: tools/call, or the method that --prompt or --resource implies)',
      asText,
    ),
    tool: one(
      'name',
      'tool name; with --direction server, the tool whose call the message belongs to',
      asText,
    ),
    prompt: one('name', 'prompt name', asText),
    resource: one('uri', 'resource URI', asText),
    args: one('json', 'arguments of the call, as a JSON object', parseArgs),
  }),
  ...group('The HTTP request, with or without a call:', {
    request: one(
      'file',
      'file with a recorded request, instead of the options above, --http-method and --path: an HTTP request with headers, a JSON-RPC message or batch, or an HTTP Archive (HAR) with one entry; use - for standard input',
      asText,
    ),
    httpMethod: one(
      'method',
      'HTTP method, for a request without a call (default: GET)',
      parseHttpMethod,
    ),
    path: one(
      'path',
      'request path (default: /mcp); without call options, explains a plain HTTP request',
      parsePath,
    ),
    header: many('name=value', 'HTTP header; repeatable', (given) => given.flatMap(headerOf)),
    outbound: one(
      'host:port',
      'dependency (host:port) that the call reaches through an --outbound route; also explains connection rules',
      toDependency,
    ),
    session: one('id', 'MCP session ID', asText),
    client: one('name/version', 'client name and version, such as my-agent/1.0', parseClient),
    transport: one(
      'transport',
      'MCP transport: streamable-http, http+sse or stdio',
      oneOf(TRANSPORTS),
      {
        default: 'streamable-http',
      },
    ),
    protocolVersion: one(
      'version',
      'MCP protocol version, such as 2025-11-25',
      parseProtocolVersion,
    ),
  }),
  ...group(LIMITS, {
    podLabel: many(
      'key=value',
      'label of the pod, as key=value, for rules with match.podLabels; repeatable',
      pairs,
    ),
  }),
  ...BOUNDS,
  ...group('Output:', { json: toggle('print JSON') }),
}

export const EXPLAIN = operation({
  name: 'explain',
  examples: [
    'explain rules.yaml --tool search_docs',
    'explain rules.yaml --tool search_docs --header x-team=b',
  ],
  page: 'docs/guides/explain.md',
  description:
    'show which rules match a call, whether they sample it, and what their faults would do',
  operands: { form: '<path>', most: 1 },
  flags: FLAGS,
  fromEnvironment: false,
  parse: (flags, { operands: [file] }) => {
    if (file === undefined) throw missingFile('explain')
    if (file !== '-' && /^[\w*-]+$/.test(file) && !existsSync(file)) {
      const form = `squall explain rules.yaml --tool ${file} explains a tool`
      throw invalidFile(`no such file: ${quoted(file)}`, form)
    }
    checkStdio(flags)
    const subject = subjectOf(flags)
    if (subject.kind === 'recorded' && subject.file === '-' && file === '-') {
      throw invalidCombination(
        'the rules and --request cannot both be standard input',
        'name a file',
      )
    }
    const { self, ...bounds } = boundsOf(flags, {})
    const labels = flags.podLabel
    return {
      file,
      subject,
      json: flags.json,
      headers: flags.header,
      outbound: flags.outbound,
      session: flags.session,
      client: flags.client,
      transport: flags.transport,
      protocolVersion: flags.protocolVersion,
      ...bounds,
      self: Object.keys(labels).length === 0 ? self : { ...self, labels },
    }
  },
})

export type ExplainRequest = RequestOf<typeof EXPLAIN>
/** The call to explain, and the limits on rules. */
export type ExplainOptions = Omit<ExplainRequest, 'file' | 'json'>

/** Throws a `UsageError` for a flag that has no effect on stdio. */
function checkStdio(flags: Values<typeof FLAGS>): void {
  if (flags.transport !== 'stdio') return
  const { httpMethod, path, header, outbound, session } = flags
  const ofHttp = { 'http-method': httpMethod, path, header: header[0], outbound, session }
  const useless = Object.entries(ofHttp).find(([, given]) => given !== undefined)?.[0]
  if (useless === undefined) return
  throw invalidCombination(
    `--${useless} has no effect with --transport stdio`,
    `remove --${useless}`,
  )
}

const NAMED_BY = [
  ['tool', 'tools/call'],
  ['prompt', 'prompts/get'],
  ['resource', 'resources/read'],
] as const
const OF_CALL = ['direction', 'method', 'tool', 'prompt', 'resource', 'args'] as const

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

function subjectOf(flags: Values<typeof FLAGS>): ExplainSubject {
  const ofCall = OF_CALL.find((name) => flags[name] !== undefined)
  const { request: recorded, httpMethod, path = '/mcp', method, direction = 'client' } = flags
  const ofHttp = httpMethod === undefined ? flags.path && 'path' : 'http-method'
  if (recorded !== undefined) {
    const other = ofCall ?? ofHttp
    if (other === undefined) return { kind: 'recorded', file: recorded }
    throw invalidCombination(
      `--request and --${other} are mutually exclusive`,
      'remove one of them',
    )
  }
  if (ofCall === undefined && ofHttp !== undefined) {
    return { kind: 'http', method: httpMethod ?? 'GET', path }
  }
  if (httpMethod !== undefined) {
    throw invalidCombination(
      `--http-method and --${ofCall} are mutually exclusive`,
      'remove one of them: calls are sent by POST',
    )
  }
  const named = NAMED_BY.filter(([flag]) => flags[flag] !== undefined)
  if (named.length > 1) {
    const list = named.map(([flag]) => `--${flag}`).join(', ')
    throw invalidCombination(`${list} are mutually exclusive`, 'use one of them')
  }
  const by = named[0]
  if (direction === 'server' && method === undefined) {
    throw invalidCombination(
      '--direction server requires --method',
      'add --method notifications/progress',
    )
  }
  return {
    kind: 'call',
    path,
    direction,
    method: method ?? by?.[1] ?? 'tools/call',
    name: by && flags[by[0]],
    args: flags.args,
  }
}

function toDependency(given: FlagInput): Destination {
  const found = parseDestination(given.text)
  if (found !== undefined) {
    const { host, port } = found
    return isIP(host) === 0 ? { host, port } : { host, port, address: host }
  }
  throw invalidValue(
    given,
    'is not a valid dependency',
    'write host:port, such as api.example.com:443',
  )
}

function parsePath(given: FlagInput): string {
  if (/^\/[\x21-\x7e]*$/.test(given.text)) return given.text
  throw invalidValue(given, 'is not a path', 'write a path such as /health')
}

function parseHttpMethod(given: FlagInput): string {
  if (isToken(given.text, 64)) return given.text
  throw invalidValue(given, 'is not a valid HTTP method', 'use a method such as GET')
}

function headerOf({ text }: FlagInput): string[] {
  const at = text.indexOf('=')
  if (at < 1 || !isHeaderName(text.slice(0, at))) {
    // The text may be a secret, so it is not repeated.
    throw invalidOption('--header', 'not a header', 'write name=value')
  }
  return [text.slice(0, at), text.slice(at + 1)]
}

function parseArgs({ text }: FlagInput): Readonly<Record<string, unknown>> {
  const value = parsedJson(text)
  if (isRecord(value)) return value
  throw invalidOption('--args', 'not a JSON object', `write '{"city":"Bern"}'`)
}

function parseClient({ text }: FlagInput): ClientInfo {
  // Names may have slashes, versions have none.
  const at = text.lastIndexOf('/')
  if (at < 0) return { name: text, version: '' }
  return { name: text.slice(0, at), version: text.slice(at + 1) }
}

function parseProtocolVersion(given: FlagInput): string {
  if (isProtocolVersionDate(given.text)) return given.text
  throw invalidValue(given, 'is not a valid protocol version', 'use a date, such as 2025-11-25')
}
