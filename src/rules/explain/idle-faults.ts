import type { FaultName } from '../../filters/index.ts'
import { NOT_APPLICABLE, type NotApplicableReason } from '../../filters/lib/not-applicable.ts'
import { type Call, type Transport, TRANSPORTS } from '../../mcp/call.ts'
import { SERVER_REQUESTS } from '../../mcp/classify.ts'
import { CLIENT_METHODS, KNOWN_METHODS, SERVER_METHODS } from '../../mcp/known-methods.ts'
import type { RuleFileSpec } from '../file/rule-spec.ts'
import { compileRules } from '../match/compile.ts'
import type { CompiledRule } from '../match/compiled-rule.ts'
import type { Direction } from '../match/match-test.ts'
import { waitsForResponse } from '../match/rule-set.ts'
import { faultOutlook } from './fault-outlook.ts'

/** A fault that can act on no message that its rule matches. */
export interface IdleFault {
  readonly rule: string
  readonly fault: FaultName
  readonly reason: NotApplicableReason | 'no_headers'
  /** The reason as a sentence. */
  readonly message: string
}

/** Messages of both sides. */
const SHARED = ['notifications/progress', 'notifications/cancelled']
/** Requests of the server that clients send as well. */
const ASKED = ['ping', 'tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel']

const METHODS: Readonly<Record<Direction, readonly string[]>> = {
  client: [...KNOWN_METHODS, ...CLIENT_METHODS, ...SHARED, ...SERVER_REQUESTS],
  server: [...SERVER_METHODS, ...SHARED, ...SERVER_REQUESTS, ...ASKED],
  response: [...SERVER_REQUESTS, ...ASKED],
}

/** Protocol versions in which requests of the server have different forms. */
const VERSIONS = ['2025-11-25', '2026-07-28']

/** Returns the faults of a file that can never act, whatever their rules match. */
export function idleFaults(file: RuleFileSpec): readonly IdleFault[] {
  const rules = compileRules(file).rules.filter(({ isConnection }) => !isConnection)
  return rules.flatMap((rule): readonly IdleFault[] => {
    if (wantsHeadersOfStdio(rule)) {
      const why = { reason: 'no_headers', message: 'messages on stdio have no headers' } as const
      return rule.uses.map(({ fault }) => ({ rule: rule.name, fault, ...why }))
    }
    return rule.uses.flatMap(({ fault }, index) => {
      const reason = idleReason(rule, index)
      if (reason === undefined) return []
      return [{ rule: rule.name, fault, reason, message: NOT_APPLICABLE[reason] }]
    })
  })
}

/** Returns true for a rule that only messages on stdio could match, but for its headers. */
function wantsHeadersOfStdio(rule: CompiledRule): boolean {
  const calls = callsOf(rule)
  const isStdio = calls.length > 0 && calls.every(({ transport }) => transport === 'stdio')
  return isStdio && callsOf(rule, ['stdio']).length === 0
}

/** Returns the faults of a file that can act on nothing that goes by stdio, each with its reason. */
export function idleOnStdio(file: RuleFileSpec): readonly string[] {
  return compileRules(file).rules.flatMap((rule) => {
    const isElsewhere = rule.isHttp || rule.isConnection
    const calls = isElsewhere ? [] : callsOf(rule, ['stdio'])
    return rule.uses.flatMap(({ fault }, index) => {
      const reason = idleReason(rule, index, calls)
      if (reason === undefined && calls.length > 0) return []
      const why = reason === undefined ? 'the rule matches nothing there' : NOT_APPLICABLE[reason]
      return [`${rule.name}/${fault}: ${why}`]
    })
  })
}

/** Returns the reason for which a fault of a rule can act on none of the calls. */
function idleReason(
  rule: CompiledRule,
  index: number,
  calls: readonly (Call | undefined)[] = rule.isHttp ? [undefined] : callsOf(rule),
): NotApplicableReason | undefined {
  const isLate = waitsForResponse(rule)
  let reason: NotApplicableReason | undefined
  for (const call of calls) {
    const facts = { ...FACTS, call }
    const outlooks = faultOutlook(rule.uses[index]!, rule.faults[index]!, rule, facts, false)
    if (outlooks.some(({ acts, by }) => acts !== 'no' && !(isLate && by === 'request')))
      return undefined
    reason ??= isLate ? 'already_sent' : outlooks[0]?.reason
  }
  return reason
}

const HTTP = { method: 'POST', path: '/mcp' }
const FACTS = { headers: [], session: 's', client: undefined, http: HTTP }

/** Returns a message of each known form that a rule may match. */
function callsOf(
  { match, direction, tests }: CompiledRule,
  transports: readonly Transport[] = TRANSPORTS,
): readonly Call[] {
  const known = [...new Set([...METHODS[direction], ...match.methods])]
  const isStdio = transports.every((each) => each === 'stdio')
  const byTransport = tests.filter(
    ({ dimension }) =>
      dimension === 'transport' || (isStdio && /^(?:headers|outbound)\./.test(dimension)),
  )
  return known
    .filter((method) => match.reach(method) !== false)
    .flatMap((method) =>
      VERSIONS.flatMap((version) =>
        transports.map((transport) => messageOf(method, direction, transport, version)),
      ),
    )
    .filter((call) => byTransport.every((each) => each.test({ ...FACTS, call })))
}

/** Returns a message of a method, with the parts that every message has. */
export function messageOf(
  method: string,
  direction: Direction,
  transport: Transport,
  protocolVersion: string | undefined,
): Call {
  const isNote = method.startsWith('notifications/')
  const isResponse =
    direction === 'response' || (direction === 'client' && SERVER_REQUESTS.includes(method))
  return {
    id: isNote ? undefined : 1,
    method,
    name: 'a',
    params: {},
    transport,
    protocolVersion,
    progressToken: undefined,
    kind: isNote ? 'notification' : isResponse ? 'response' : undefined,
    from: direction === 'server' ? direction : undefined,
  }
}
