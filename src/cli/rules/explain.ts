import { plain } from '../../base/text/foreign-text.ts'
import { toolOf, type Call } from '../../mcp/call.ts'
import { explain, explainConnection } from '../../rules/explain/explain.ts'
import { messageOf } from '../../rules/explain/idle-faults.ts'
import { explainText } from '../../rules/explain/explain-text.ts'
import { createGuardedRules } from '../../rules/guard/guarded-rules.ts'
import { TARGET } from '../../listener/stdio/stdio-exchange.ts'
import type { RuleSet } from '../../rules/match/rule-set.ts'
import { planCall } from '../../rules/select/plan.ts'
import { isUntouchable } from '../../rules/select/inactive-reason.ts'
import { problemLines, problemsJson } from '../../rules/file/problem.ts'
import type { RulesVersion } from '../../rules/file/rules-file.ts'
import type { ExplainOptions, ExplainRequest, ExplainSubject } from '../commands/explain.ts'
import { readRulesSource } from './rules-source.ts'
import { readFlags } from '../../base/flags/flag.ts'
import { UsageError } from '../../base/flags/usage-error.ts'
import { boundsOf, LIMIT_FLAGS } from '../../sidecar/rules-options.ts'
import { classifyBody } from '../../mcp/classify.ts'
import { TASK_METHODS } from '../../mcp/task-tools.ts'
import { factsOf } from '../../mcp/request-facts.ts'
import { type RequestHead, headerValue, targetPath } from '../../http/headers.ts'
import type { CallFacts, ExchangeFacts } from '../../rules/match/call-facts.ts'
import { readRecordedRequest } from './recorded-request.ts'

const FAILED = 1

/** Prints the predicted effect of rules on one request; returns the exit code. */
export async function explainCommand(
  asked: ExplainRequest,
  write: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<number> {
  const exchange = await explainedExchange(asked)
  const { version, files } = await readRulesSource(asked.file)
  if (version.kind === 'rejected') {
    write(asked.json ? problemsJson(files) : files.map(problemLines).join(''))
    return FAILED
  }
  const { disarmed, explained, connection, hasConnectionRules } = explainAll(
    asked,
    exchange,
    version,
  )
  const { http } = exchange.facts
  if (asked.json) {
    // The query may hold secrets.
    const request = { method: http.method, path: http.path }
    write(`${JSON.stringify({ request, disarmed, explained, connection }, null, 2)}\n`)
    return 0
  }
  const hasConnection = connection !== undefined && connection.rules.length > 0
  if (hasConnection) {
    write(
      `The connection:\n\n${explainText({ disarmed, ...connection }, 'connection')}\nThe call:\n\n`,
    )
  }
  const isRecorded = asked.subject.kind === 'recorded'
  for (const [index, { call, rules }] of explained.entries()) {
    if (index > 0) write('\n')
    const which = explained.length > 1 ? ` (${index + 1} of ${explained.length})` : ''
    const title = call === undefined ? `${http.method} ${http.path}, without a call` : titleOf(call)
    if (isRecorded) write(`${plain(title)}${which}\n\n`)
    const isFirst = index === 0 && !hasConnection
    write(explainText({ disarmed: isFirst ? disarmed : undefined, rules }))
  }
  const isSampled = explained.some(({ rules }) =>
    rules.some(({ forecast }) => forecast?.sample !== undefined && forecast.share < 1),
  )
  const written = version.kind === 'rules' ? version.file.seed : 0
  if (isSampled && (written ?? asked.seed) === undefined) {
    write('The rules set no seed, so each start generates one; these samples use seed 0.\n')
  }
  if (hasConnectionRules && asked.outbound === undefined) {
    write('Connection rules are not shown; use --outbound host:port to explain them.\n')
  }
  return 0
}

/** Predicts the effect of rules on one call, with the default limits. Throws a `UsageError`. */
export async function explainCall(
  call: Pick<Extract<ExplainSubject, { readonly kind: 'call' }>, 'method' | 'name' | 'args'>,
  { headers, session }: Pick<ExplainOptions, 'headers' | 'session'>,
  version: RulesVersion,
) {
  const options: ExplainOptions = {
    ...boundsOf(readFlags(LIMIT_FLAGS, new Map(), {}), {}),
    subject: { kind: 'call', direction: 'client', path: '/mcp', ...call },
    headers,
    outbound: undefined,
    session,
    client: undefined,
    transport: 'streamable-http',
    protocolVersion: undefined,
  }
  const { disarmed, explained } = explainAll(options, await explainedExchange(options), version)
  const data = { disarmed, rules: explained[0]?.rules ?? [] }
  return { text: explainText(data), data }
}

function titleOf({ id, method, name }: Pick<Call, 'id' | 'method' | 'name'>): string {
  const which = id === undefined ? '' : `, id ${JSON.stringify(id)}`
  return `${method}${name === undefined ? '' : ` ${name}`}${which}`
}

/** Evaluates the rules as a sidecar that has just read them does. */
function explainAll(
  asked: ExplainOptions,
  { facts: known, calls, unread }: ExplainedExchange,
  version: RulesVersion,
) {
  const now = Date.now()
  const clock = (): number => now
  const { outbound, seed = '0' } = asked
  const options = { ...asked, seed, guard: undefined, rollbackOn: [], headerFaults: undefined }
  const { isActive, states } = createGuardedRules(options, { clock })
  isActive.take(version)
  const isStdio = asked.transport === 'stdio'
  const ruleSet = isStdio ? withoutHttp(isActive.ruleSet) : isActive.ruleSet
  const untouchable = isUntouchable(states, calls, unread)
  // A rule about HTTP matches all calls of a batch by the tool of one.
  const tools = calls.flatMap((call) => toolOf(call) ?? [])
  const facts = { ...known, untouchable, ...(calls.length > 0 && { tools }) }
  const about = {
    connection: outbound && { rules: explainConnection(ruleSet, outbound, now, states) },
    hasConnectionRules: !isStdio && ruleSet.index.connections.length > 0,
  }
  try {
    if (calls.length === 0) {
      const { disarmed, rules } = explain(ruleSet, facts, now, states)
      return { ...about, disarmed, explained: [{ call: undefined, rules }] }
    }
    let disarmed: string | undefined
    const explained = calls.map((call) => {
      const { id, method, name } = call
      const said = explain(ruleSet, { ...facts, call }, now, states, calls.length > 1)
      // The rules keep the state that this call left for the next call of the batch.
      planCall(ruleSet, { ...facts, call }, states, clock)
      disarmed = said.disarmed
      return { call: { id, method, name }, rules: said.rules }
    })
    return { ...about, disarmed, explained }
  } catch (error) {
    // JSON can be deeper than its readers allow.
    if (!(error instanceof RangeError)) throw error
    throw new UsageError(
      'INVALID_VALUE',
      'the call is nested too deeply',
      'reduce the nesting of the arguments',
    )
  } finally {
    isActive.close()
  }
}

/** Returns rules as on stdio, where rules about HTTP match nothing. */
function withoutHttp(ruleSet: RuleSet): RuleSet {
  const elsewhere = [{ dimension: 'http', wants: 'an HTTP request', found: 'stdio' }]
  const rules = ruleSet.rules.map((rule) =>
    rule.isHttp ? { ...rule, tests: [], elsewhere } : rule,
  )
  return { ...ruleSet, rules }
}

/** A request as a sidecar classifies it. */
interface ExplainedExchange {
  readonly facts: ExchangeFacts & Pick<CallFacts, 'protocolVersion'>
  readonly calls: readonly Call[]
  /** True when the body is not read, so that it may hold any call. */
  readonly unread: boolean
}

/** Builds the request to explain. Throws a `UsageError`. */
async function explainedExchange(request: ExplainOptions): Promise<ExplainedExchange> {
  const exchange = await exchangeOf(request)
  if (request.transport !== 'stdio') return exchange
  // As `squall stdio` sees each line.
  const http = { method: 'POST', path: TARGET }
  return { ...exchange, facts: { ...exchange.facts, headers: [], session: TARGET, http } }
}

async function exchangeOf(request: ExplainOptions): Promise<ExplainedExchange> {
  const { subject, headers, session, client, protocolVersion, outbound } = request
  const known = { headers, session, client, protocolVersion, outbound }
  if (subject.kind === 'recorded') return recorded(subject.file, request)
  const path = targetPath(subject.path)
  if (subject.kind === 'http') {
    const http = { method: subject.method, path, target: subject.path }
    return { facts: { ...known, http }, calls: [], unread: false }
  }
  const http = { method: 'POST', path, target: subject.path }
  return { facts: { ...known, http }, calls: [callOf(subject, request)], unread: false }
}

async function recorded(file: string, request: ExplainOptions): Promise<ExplainedExchange> {
  const { method, target, headers: lines, body } = await readRecordedRequest(file)
  const headers = [...lines, ...request.headers]
  const head: RequestHead = { method, target, version: '1.1', headers }
  const said = factsOf(head)
  const posted =
    said.kind === 'post' ? classifyBody(said, Buffer.from(body), request.transport) : undefined
  const isRead = posted?.kind === 'messages'
  return {
    facts: {
      headers,
      session: request.session ?? headerValue(headers, 'mcp-session-id'),
      client: (isRead ? posted.client : undefined) ?? request.client,
      protocolVersion: request.protocolVersion,
      outbound: request.outbound,
      http: { method, path: targetPath(target), target },
    },
    // The method to which a response belongs is not known.
    calls: isRead ? [...posted.calls, ...posted.others.filter(isNotification)] : [],
    unread: !isRead && (posted !== undefined || said.hasBody || body.trim() !== ''),
  }
}

function callOf(
  { direction, method, name, args }: Extract<ExplainSubject, { readonly kind: 'call' }>,
  { transport, protocolVersion }: ExplainOptions,
): Call {
  const key = method.startsWith('resources/') ? 'uri' : 'name'
  const params = { ...(name === undefined ? {} : { [key]: name }), arguments: args }
  return {
    ...messageOf(method, direction, transport, protocolVersion),
    name,
    tool: TASK_METHODS.includes(method) ? name : undefined,
    params,
  }
}

function isNotification({ kind }: Call): boolean {
  return kind === 'notification'
}
