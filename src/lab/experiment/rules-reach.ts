import type { Call } from '../../mcp/call.ts'
import { compileRules } from '../../rules/match/compile.ts'
import { explain } from '../../rules/explain/explain.ts'
import { nearestName } from '../../base/nearest-name.ts'
import { parseRules } from '../../rules/file/parse.ts'
import type { Rejection } from './rejection.ts'
import type { RulesSource, WrittenRule } from './rules-source.ts'

/**
 * Returns a rejection when no rule can match a call of these tools. Only the tool and the headers are
 * known runBeforePhase: other conditions count as matching.
 */
export function matchNothing(
  { rules }: RulesSource,
  tools: readonly string[],
  headers: Readonly<Record<string, string>>,
): Rejection | undefined {
  const acting = rules.filter(({ dryRun }) => dryRun !== true)
  if (acting.length === 0) {
    return {
      code: 'RULES_HIT_NOTHING',
      wrong: rules.length === 0 ? 'there is no rule' : 'all rules are dry runs',
      fix: 'an experiment needs a rule that acts',
    }
  }
  if (tools.length === 0 || acting.some((rule) => mayMatch(rule, tools, headers))) return undefined
  const wanted = acting.map(toolOf).find((tool) => tool !== undefined)
  const near = wanted === undefined ? undefined : nearestName(wanted, tools)
  const hint = near === undefined ? '' : ` (did you mean ${near}?)`
  return {
    code: 'RULES_HIT_NOTHING',
    wrong: `no rule can match a call of ${shownTools(tools)}`,
    fix: `name these tools and the headers of the load in \`match\`${hint}; squall explain says which dimension fails`,
  }
}

function mayMatch(
  rule: WrittenRule,
  tools: readonly string[],
  headers: Readonly<Record<string, string>>,
): boolean {
  const match = (rule['match'] ?? {}) as Readonly<Record<string, unknown>>
  const { tool, headers: wanted, ...others } = match
  // The load calls other methods only in handshakes; other conditions are only known at run time.
  if (['http', 'any', 'all', 'not', 'method'].some((key) => others[key] !== undefined)) return true
  const known = {
    ...(tool === undefined ? {} : { tool }),
    ...(wanted === undefined ? {} : { headers: wanted }),
  }
  const asked = { name: rule.name, match: known, faults: rule['faults'] }
  const parsed = parseRules(JSON.stringify({ rules: [asked] }))
  if (!parsed.ok) return true
  const ruleSet = compileRules(parsed.file)
  return tools.some((name) => {
    const facts = {
      call: callOf(name),
      headers: Object.entries(headers).flat(),
      session: undefined,
      client: undefined,
      http: { method: 'POST', path: '/mcp' },
    }
    return explain(ruleSet, facts, 0).rules.some(({ matches }) => matches)
  })
}

function callOf(name: string): Call {
  return {
    id: 1,
    method: 'tools/call',
    name,
    params: { name, arguments: {} },
    transport: 'streamable-http',
    protocolVersion: undefined,
    progressToken: undefined,
  }
}

function toolOf(rule: WrittenRule): string | undefined {
  const tool = (rule['match'] as Readonly<Record<string, unknown>> | undefined)?.['tool']
  return typeof tool === 'string' ? tool : undefined
}

function shownTools(tools: readonly string[]): string {
  return tools.length > 5 ? `${tools.slice(0, 5).join(', ')}, …` : tools.join(', ')
}
