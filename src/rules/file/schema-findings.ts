import { violationsOf } from './schema-violations.ts'
import type { Finding, Path } from './problem.ts'
import { memberOf } from './read-values.ts'
import { findingOf } from './schema-messages.ts'
import type { SchemaNode } from './schema-node.ts'

/**
 * Returns the violations of a whole file, each once and in the user's terms. Rules are checked one by
 * one, until there are about `limit` violations.
 */
export function schemaFindings(file: unknown, root: SchemaNode, limit: number): readonly Finding[] {
  const rules = memberOf(file, 'rules')
  if (!Array.isArray(rules)) return findingsOf(file, root, root, [])
  const findings = [...findingsOf({ ...(file as object), rules: [] }, root, root, [])]
  const rule = root.definitions?.['rule'] ?? {}
  for (const [index, each] of rules.entries()) {
    if (findings.length >= limit) break
    findings.push(...findingsOf(each, rule, root, ['rules', index]))
  }
  return findings
}

function findingsOf(
  value: unknown,
  node: SchemaNode,
  root: SchemaNode,
  base: Path,
): readonly Finding[] {
  const findings: Finding[] = []
  const seen = new Set<string>()
  for (const violation of violationsOf(value, node, root.definitions, base)) {
    const finding = findingOf(violation, root)
    // Keys that are cut short in a message may look alike.
    const once = JSON.stringify([violation.path, finding.message])
    if (seen.has(once)) continue
    seen.add(once)
    findings.push(finding)
  }
  return findings
}
