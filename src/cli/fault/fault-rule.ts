import { fieldsOf, isRecord } from '../../base/values.ts'
import { readYaml } from '../../rules/file/yaml-document.ts'
import type { FlagInput } from '../../base/flags/flag.ts'
import { invalidValue, missing } from '../../base/flags/usage-error.ts'
import type { FaultFlags } from './fault-flags.ts'

const FAULT_FORM = 'write a fault as in a rules file: reset, or "hang: { for: 30s }"'
const RULE_FORM = "write a rule as in a rules file: '{ match: { tool: search }, faults: [reset] }'"

/** Makes the rule that the options describe. Throws a `UsageError`. */
export function faultRule(flags: FaultFlags): object {
  const { tool, method, header, percent: share, times, for: lasting, name } = flags
  const rule = flags.rule === undefined ? {} : readRule(flags.rule)
  const { faults: written = [] } = rule
  const match = isRecord(rule['match']) ? rule['match'] : {}
  const faults = [...shortFaults(flags), ...(Array.isArray(written) ? (written as unknown[]) : [])]
  if (faults.length === 0) {
    throw missing('no fault', 'use --delay 2s, --abort 503, --fault reset or another fault')
  }
  if (lasting === undefined && rule['for'] === undefined && rule['until'] === undefined) {
    throw missing('--for is missing', 'set when the fault expires, such as --for 30s')
  }
  const only = {
    ...(tool.length > 0 && { tool }),
    ...(method.length > 0 && { method }),
    ...(Object.keys(header).length > 0 && {
      headers: { ...othersThan(header, match['headers']), ...header },
    }),
  }
  const isNarrowed = Object.keys(only).length > 0
  return {
    ...rule,
    ...(isNarrowed && { match: { ...match, ...only } }),
    ...(share !== undefined && { percent: share }),
    ...(times !== undefined && { times }),
    ...(lasting !== undefined && { for: `${lasting}ms` }),
    ...(name !== undefined && { name }),
    faults,
  }
}

/** Returns the header conditions of a rule without those that these replace, in any case. */
function othersThan(header: Readonly<Record<string, unknown>>, written: unknown): object {
  const names = new Set(Object.keys(header).map((name) => name.toLowerCase()))
  const entries = Object.entries(fieldsOf(written))
  return Object.fromEntries(entries.filter(([name]) => !names.has(name.toLowerCase())))
}

function shortFaults({ delay, abort, toolError, rpcError, fault }: FaultFlags): readonly unknown[] {
  return [
    ...(delay === undefined ? [] : [{ delay: { fixed: `${delay}ms` } }]),
    ...(abort === undefined ? [] : [{ abort: { status: abort } }]),
    ...(toolError === undefined ? [] : [{ abort: { toolError } }]),
    ...(rpcError === undefined ? [] : [{ abort: { rpcError: { code: rpcError } } }]),
    ...fault.map(readFault),
  ]
}

function readFault(given: FlagInput): unknown {
  const value = readValue(given, FAULT_FORM)
  if (typeof value === 'string' || isRecord(value)) return value
  throw invalidValue(given, 'is not a valid fault', FAULT_FORM)
}

function readRule(given: FlagInput): Readonly<Record<string, unknown>> {
  const value = readValue(given, RULE_FORM)
  if (isRecord(value)) return checkRule(given, value)
  throw invalidValue(given, 'is not a valid rule', RULE_FORM)
}

/** Checks what the other options are added to; the sidecar checks the rest. */
function checkRule(
  given: FlagInput,
  rule: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { match, faults } = rule
  if (match !== undefined && !isRecord(match)) {
    throw invalidValue(given, 'has a `match` that is not an object', RULE_FORM)
  }
  if (faults !== undefined && !Array.isArray(faults)) {
    throw invalidValue(given, 'has a `faults` key that is not a list', RULE_FORM)
  }
  return rule
}

function readValue(given: FlagInput, form: string): unknown {
  const { value, problems } = readYaml(given.text)
  const [problem] = problems
  if (problem === undefined) return value
  throw invalidValue(given, `cannot be read: ${problem.message}`, form)
}
