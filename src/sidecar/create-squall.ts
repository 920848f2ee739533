import { setImmediate as nextTurn } from 'node:timers/promises'
import { nearestName } from '../base/nearest-name.ts'
import { quoted } from '../base/text/foreign-text.ts'
import { isRecord } from '../base/values.ts'
import { rollbackConditionsProblem } from '../rules/guard/rollback-condition.ts'
import type { ActiveRules } from '../rules/watch/active-rules.ts'
import { parseRules } from '../rules/file/parse.ts'
import { type Problem, sentence } from '../rules/file/problem.ts'
import type { RecentFault } from '../listener/faults/fault-report.ts'
import type { ToolSample } from '../telemetry/tool-sample.ts'
import { SILENT } from '../telemetry/log.ts'
import { armedOptions } from './run-options.ts'
import { assemble } from './assemble.ts'

/**
 * Rules as the text of a rules file, YAML or JSON, as an object with its keys, or as a list of
 * rules.
 */
export type RulesInput =
  | string
  | readonly object[]
  | { readonly rules: readonly object[]; readonly [key: string]: unknown }

/** Configures a sidecar in this process. */
export interface SquallOptions {
  /** URL of the MCP server, such as `http://127.0.0.1:3000/mcp`. */
  readonly upstream: string | URL
  /** No rules by default: everything passes. */
  readonly rules?: RulesInput
  /** Address to listen on; by default a free port of 127.0.0.1. */
  readonly listen?: string
  /**
   * Conditions that disarm all rules for good when they hold, such as `real-errors>1% for 30s`;
   * none by default.
   */
  readonly rollbackOn?: readonly string[]
}

/** A fault that was injected into a call. */
export interface InjectedFault {
  readonly at: Date
  readonly rule: string
  readonly fault: string
  /** The tool of a `tools/call`. */
  readonly tool: string | undefined
  /** The method of another call. */
  readonly method: string | undefined
  readonly delayMs: number | undefined
}

/** The results of a rule for the calls that it matched. */
export interface RuleReport {
  readonly rule: string
  readonly matched: number
  readonly sampled: number
  readonly injected: number
  /** Every other result with its count, such as `not_sampled` or `not_applicable`. */
  readonly results: Readonly<Record<string, number>>
}

/** The calls of a tool that have ended. */
export interface ToolReport {
  /** The tool; empty for all other methods together. */
  readonly tool: string
  readonly calls: number
  readonly injectedErrors: number
  /** Errors of the server, and of Squall itself when it could not reach it. */
  readonly realErrors: number
}

/** An error in a rules file. */
export interface RulesProblem {
  readonly line: number
  readonly column: number
  readonly message: string
}

/** A running sidecar. */
export interface Squall extends AsyncDisposable {
  /** URL for clients: that of the server, with the address of the sidecar. */
  readonly url: string
  /**
   * Replaces all rules; resolves when they are active. Rejects with an `InvalidRulesError`, and
   * nothing changes.
   */
  setRules(rules: RulesInput): Promise<void>
  /** Returns the last 10,000 injected faults, oldest first. */
  faults(): readonly InjectedFault[]
  /** Returns the results of each active rule since it became active. */
  rules(): readonly RuleReport[]
  /** Returns the calls of each tool since the start. A call counts when its response was sent. */
  tools(): readonly ToolReport[]
  /** Returns all metrics in Prometheus text format. */
  metrics(): Promise<string>
  /** Closes all connections and the port. */
  close(): Promise<void>
}

const KEPT_FAULTS = 10_000
const OPTIONS: readonly string[] = [
  'upstream',
  'rules',
  'listen',
  'rollbackOn',
] satisfies (keyof SquallOptions)[]

/** Rules that are invalid. The message has each problem on a line of its own. */
export class InvalidRulesError extends Error {
  override readonly name = 'InvalidRulesError'
  readonly problems: readonly RulesProblem[]

  constructor(problems: readonly RulesProblem[]) {
    const lines = problems.map(({ line, column, message }) => `rules:${line}:${column}: ${message}`)
    super(['the rules are invalid', ...lines].join('\n'))
    this.problems = problems
  }
}

/**
 * Starts a sidecar in this process, in front of an MCP server. It injects nothing where NODE_ENV or
 * ENVIRONMENT names production: it refuses to start there.
 */
export async function createSquall(given: SquallOptions): Promise<Squall> {
  const { server, rules = [], listen = '127.0.0.1:0', rollbackOn = [] } = checkedOptions(given)
  const options = armedOptions({ listen, upstream: server.origin, 'rollback-on': rollbackOn })
  const first = versionOf(rules)
  const running = await assemble(options, SILENT, { keptFaults: KEPT_FAULTS })
  const active = running.rules!
  await activate(active, first)
  let isClosed = false
  let before: Promise<unknown> = Promise.resolve()
  const setRules = (next: RulesInput): Promise<void> => {
    const version = versionOf(next)
    // One after the other: a version that a later one overtakes never becomes active.
    const setting = before.then(() => {
      if (isClosed) throw new Error('the sidecar is closed')
      return activate(active, version)
    })
    before = setting.catch(() => undefined)
    return setting
  }
  const close = async (): Promise<void> => {
    isClosed = true
    await before
    await running.close()
  }
  const url = new URL(server)
  url.protocol = 'http:'
  url.host = running.listeners[0]!.text
  return {
    url: url.href,
    setRules: async (next) => setRules(next),
    faults: () => running.recent!.list().map(shownFault).toReversed(),
    rules: () => rulesOf(active),
    tools: () => running.metrics.tools().map(shownTool),
    metrics: async () => (await running.metrics.render()).text,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/**
 * Checks options that may come from JavaScript, and reads the URL. Throws a `TypeError` with the
 * right form.
 */
function checkedOptions(given: unknown) {
  const example = "createSquall({ upstream: 'http://127.0.0.1:3000/mcp' })"
  if (!isRecord(given)) throw new TypeError(`createSquall requires options; write ${example}`)
  const unknown = Object.keys(given).find((key) => !OPTIONS.includes(key))
  if (unknown !== undefined) {
    const near = nearestName(unknown, OPTIONS)
    const fix =
      near === undefined ? `the options are ${OPTIONS.join(', ')}` : `did you mean ${near}?`
    throw new TypeError(`unknown option ${quoted(unknown)} of createSquall; ${fix}`)
  }
  const { upstream, rules, listen, rollbackOn } = given as Partial<SquallOptions>
  if (upstream === undefined) {
    throw new TypeError(`upstream, the URL of the MCP server, is missing; write ${example}`)
  }
  const server = URL.canParse(String(upstream)) ? new URL(upstream) : undefined
  if (server === undefined || !/^https?:$/.test(server.protocol)) {
    const found = quoted(String(upstream))
    throw new TypeError(`upstream ${found} must be an http or https URL; write ${example}`)
  }
  if (listen !== undefined && (typeof listen !== 'string' || listen.startsWith('unix:'))) {
    throw new TypeError("listen must be host:port; write listen: '127.0.0.1:0'")
  }
  const wrong = rollbackProblem(rollbackOn)
  if (wrong !== undefined) throw new TypeError(wrong)
  return { server, rules, listen, rollbackOn }
}

/** Returns what is wrong with conditions, and how to write them. */
function rollbackProblem(given: unknown): string | undefined {
  const all: readonly unknown[] | undefined = Array.isArray(given) ? given : undefined
  if (given !== undefined && !all?.every((each) => typeof each === 'string')) {
    return "rollbackOn must be a list; write rollbackOn: ['real-errors>1% for 30s']"
  }
  const fix = all?.length ? rollbackConditionsProblem(all.join()) : undefined
  return fix && `rollbackOn ${quoted(all!.join(', '))}: ${fix}`
}

function versionOf(input: RulesInput) {
  if (typeof input === 'string' && /^\S+\.(ya?ml|json)$/.test(input)) {
    const fix = `write rules: await readFile(${JSON.stringify(input)}, 'utf8')`
    throw new TypeError(`rules must be the text of a rules file, not its path; ${fix}`)
  }
  const rules = Array.isArray(input) ? { rules: input as readonly object[] } : input
  const parsed = parseRules(typeof rules === 'string' ? rules : JSON.stringify(rules, null, 2))
  if (!parsed.ok) throw invalid(parsed.problems)
  return { kind: 'rules', digest: parsed.digest, file: parsed.file } as const
}

/** Resolves when the version is active: a large one is compiled step by step. */
async function activate(active: ActiveRules, version: ReturnType<typeof versionOf>): Promise<void> {
  active.take(version)
  while (active.last?.version.digest !== version.digest) await nextTurn()
  const { version: found } = active.last
  if (found.kind === 'rejected') {
    throw invalid(found.problems.flatMap(({ problems }) => problems))
  }
}

function invalid(problems: readonly Problem[]): InvalidRulesError {
  return new InvalidRulesError(
    problems.map(({ line, column, ...rest }) => ({ line, column, message: sentence(rest) })),
  )
}

function shownFault({ at, entry }: RecentFault): InjectedFault {
  const { rule, fault, tool, method, delayMs } = entry
  return { at: new Date(at), rule, fault, tool, method, delayMs }
}

function rulesOf({ ruleSet, states }: ActiveRules): readonly RuleReport[] {
  return ruleSet.rules.map((rule) => {
    const { matched = 0, sampled = 0, ...results } = states.of(rule)?.counts ?? {}
    const { injected = 0 } = results as { readonly injected?: number }
    return { rule: rule.name, matched, sampled, injected, results }
  })
}

function shownTool({ tool, calls, errors }: ToolSample): ToolReport {
  const sum = (counts: ToolSample['calls']): number =>
    Object.values(counts).reduce((total, count) => total + count, 0)
  const { injected } = errors
  return { tool, calls: sum(calls), injectedErrors: injected, realErrors: sum(errors) - injected }
}
