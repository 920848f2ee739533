import type { Fields } from '../../base/values.ts'
import { amount, fields, list, text } from './read-values.ts'
import type { ByOrigin, Fault, Reason, Reload, Rule, Snapshot, Tool } from './snapshot.ts'

// As many as a sidecar shows, and a few.
const MAX_RULES = 1_010
const MAX_TOOLS = 250
const MAX_FAULTS = 200
const MAX_REASONS = 10
const MAX_FAULTS_OF_RULE = 20
const PHASES = ['on', 'not_yet', 'expired', 'other_pod'] as const

/** Reads one event of `/api/events`; what is written there is not trusted. */
export function readSnapshot(json: string): Snapshot {
  const event = fields(JSON.parse(json))
  const state = fields(event['state'])
  const inForce = fields(state['rules'])
  const rules = fields(event['rules'])
  const faults = fields(event['faults'])
  const at = Date.parse(text(event['at'], 40))
  return {
    at: Number.isNaN(at) ? undefined : at,
    version: text(state['version'], 40),
    environment: text(state['environment'], 60),
    canChange: state['canChange'] === true,
    armed: state['armed'] === true,
    reasons: list(state['reasons'], MAX_REASONS).map(readReason),
    shadow: state['shadow'] === true,
    activeFaults: amount(state['activeFaults']),
    digest: text(rules['digest'], 80),
    generation: amount(rules['generation']),
    ruleCount: amount(inForce['count']),
    lastReload: readReload(state['lastReload']),
    rules: list(rules['rules'], MAX_RULES).map(readRule),
    tools: list(event['tools'], MAX_TOOLS).map(readTool),
    faults: {
      whole: faults['whole'] === true,
      total: amount(faults['total']),
      list: list(faults['faults'], MAX_FAULTS).map(readFault),
    },
  }
}

function readReason({ by, reason, at }: Fields): Reason {
  return { by: text(by, 20), reason: text(reason, 250), at: text(at, 40) }
}

function readReload(value: unknown): Reload | undefined {
  if (value === null || value === undefined) return undefined
  const { result, at, reason, problems, problemCount } = fields(value)
  const [first] = problems === undefined ? [] : list(problems, 1)
  const problem =
    first === undefined
      ? text(reason, 250)
      : `${text(first['file'])}:${amount(first['line'])}:${amount(first['column'])} ${text(first['message'], 250)}`
  return { result: text(result, 20), at: text(at, 40), problem, problemCount: amount(problemCount) }
}

function readRule(rule: Fields): Rule {
  const { name, faults, builtIn, shadow, phase, percent, hits, active } = rule
  const counts = fields(rule['counts'])
  const names: readonly unknown[] = Array.isArray(faults) ? faults : []
  return {
    name: text(name),
    faults: names.slice(0, MAX_FAULTS_OF_RULE).map((fault) => text(fault, 40)),
    builtIn: builtIn === true,
    shadow: shadow === true,
    phase: PHASES.find((each) => each === phase) ?? 'on',
    percent: typeof percent === 'number' ? amount(percent) : null,
    hits: amount(hits),
    active: amount(active),
    matched: amount(counts['matched']),
    applied: amount(counts['applied']),
  }
}

function readTool({ tool, calls, errors }: Fields): Tool {
  return { tool: text(tool, 130), calls: readOrigins(calls), errors: readOrigins(errors) }
}

function readOrigins(value: unknown): ByOrigin {
  const { upstream, injected, squall } = fields(value)
  return { upstream: amount(upstream), injected: amount(injected), squall: amount(squall) }
}

function readFault(fault: Fields): Fault {
  const { at, rule, tool, method, id, session, effect, delayMs } = fault
  return {
    at: text(at, 40),
    rule: text(rule),
    fault: text(fault['fault'], 40),
    called: text(tool ?? method, 130),
    id:
      typeof id === 'number'
        ? String(id)
        : typeof id === 'string'
          ? text(JSON.stringify(id), 70)
          : '',
    session: text(session, 20),
    effect: text(effect, 160),
    delayMs: typeof delayMs === 'number' ? amount(delayMs) : null,
  }
}
