import { isRecord, type Fields } from '../../base/values.ts'
import type { Finding, Path } from './problem.ts'

const OF_POD = ['outbound', 'workload', 'podLabels']
const OF_CONNECTIONS = ['sni', 'cidr']

/** Returns the contradictions between the fault `connection` and the rest of its rule. */
export function outboundFindings(rule: Fields, path: Path): readonly Finding[] {
  const { match } = rule
  const faults = Array.isArray(rule['faults']) ? (rule['faults'] as readonly unknown[]) : []
  const at = faults.findIndex((fault) => isConnection(fault))
  if (at === -1) return isRecord(match) ? callFindings(match, [...path, 'match']) : []
  const findings: Finding[] = []
  const conflict = (message: string, where: Path, hint: string): void => {
    findings.push({ code: 'conflict', message, path: where, atKey: true, hint })
  }
  if (faults.length > 1) {
    const hint = 'write a separate rule for each'
    conflict('`connection` must be the only fault of its rule', [...path, 'faults'], hint)
  }
  if (!isRecord(match) || match['outbound'] === undefined) {
    const hint = 'add `match: { outbound: { host: db, port: 5432 } }`'
    conflict('`connection` requires `match.outbound`', [...path, 'faults', at], hint)
  }
  for (const key of isRecord(match) ? Object.keys(match) : []) {
    if (OF_POD.includes(key)) continue
    const message = `\`${key}\` does not match connections, on which \`connection\` acts`
    conflict(message, [...path, 'match', key], 'remove it')
  }
  return findings
}

function isConnection(fault: unknown): boolean {
  return fault === 'connection' || (isRecord(fault) && Object.hasOwn(fault, 'connection'))
}

/** Finds conditions on connections in a rule about calls. */
function callFindings(match: Fields, path: Path): readonly Finding[] {
  const { outbound } = match
  const found = isRecord(outbound) ? OF_CONNECTIONS.filter((key) => key in outbound) : []
  const inner = (['any', 'all'] as const).flatMap((key) => {
    const list = match[key]
    return Array.isArray(list)
      ? list.flatMap((each, index) =>
          isRecord(each) ? callFindings(each, [...path, key, index]) : [],
        )
      : []
  })
  const { not } = match
  return [
    ...found.map((key): Finding => ({
      code: 'conflict',
      message: `\`${key}\` matches connections, and this rule matches calls`,
      path: [...path, 'outbound', key],
      atKey: true,
      hint: 'use the fault `connection`, or `host` and `port`',
    })),
    ...inner,
    ...(isRecord(not) ? callFindings(not, [...path, 'not']) : []),
  ]
}
