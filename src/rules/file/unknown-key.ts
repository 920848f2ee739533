import { quoted } from '../../base/text/foreign-text.ts'
import { FAULTS } from '../../filters/index.ts'
import { familiarFault, familiarHint } from './familiar-keys.ts'
import { nearestName } from '../../base/nearest-name.ts'
import type { Finding, Path } from './problem.ts'
import type { SchemaNode } from './schema-node.ts'

/** The hint for a key that is valid elsewhere. */
type Elsewhere = (key: string) => string | undefined

/**
 * Returns a hint for an unknown key: a similar name, the place where it is valid, or the key of
 * another tool.
 */
export function unknownKey(
  path: Path,
  key: string,
  allowed: readonly string[],
  schema: SchemaNode,
): Finding {
  const inFaults = path.length === 5 && path[2] === 'faults'
  const place = elsewhere(schema, path)
  const hint = (inFaults ? familiarFault(key) : undefined) ?? hintFor(path, key, allowed, place)
  return {
    code: inFaults ? 'unknown_fault' : 'unknown_key',
    message: inFaults ? `unknown fault ${quoted(key)}` : `unknown key ${quoted(key)}`,
    path,
    atKey: true,
    found: key,
    allowed,
    ...(hint === undefined ? {} : { hint }),
  }
}

/** Suggests only the nearest key, without the hints for rules files. */
export function nearestKeyAlone(finding: Finding): Finding {
  if (finding.code !== 'unknown_key') return finding
  const { hint: _, ...rest } = finding
  const hint = meant(nearestName(finding.found ?? '', finding.allowed ?? []))
  return hint === undefined ? rest : { ...rest, hint }
}

function hintFor(
  path: Path,
  key: string,
  allowed: readonly string[],
  place: Elsewhere,
): string | undefined {
  const near = nearestName(key, allowed)
  // Another spelling (`max_active`) comes first; then a key that is valid elsewhere, before a
  // similar name.
  if (near !== undefined && sameLetters(near, key)) return meant(near)
  return place(key) ?? familiarHint(key, path.length > 5 && path[2] === 'faults') ?? meant(near)
}

function meant(near: string | undefined): string | undefined {
  return near === undefined ? undefined : `did you mean \`${near}\`?`
}

function sameLetters(a: string, b: string): boolean {
  const letters = (name: string): string => name.toLowerCase().replace(/[_\s-]/g, '')
  return letters(a) === letters(b)
}

function elsewhere(schema: SchemaNode, path: Path): Elsewhere {
  const has = (node: SchemaNode | undefined, key: string): boolean =>
    node?.properties !== undefined && Object.hasOwn(node.properties, key)
  const isFile = path.length === 1
  const isRule = path.length === 3 && path[0] === 'rules'
  const inMatch = path[2] === 'match'
  return (key) => {
    const { rule, match } = schema.definitions ?? {}
    if (isFile && key === 'faults') return 'each rule in `rules` has its own `faults`'
    if (isFile && has(rule, key)) return `\`${key}\` belongs to a rule in \`rules\``
    if (isRule && has(match, key)) return `write \`${key}\` under \`match\``
    const fault = FAULTS.find(({ name }) => name === key)
    if (fault !== undefined && !isFile) {
      const theirs = familiarHint(key, false)
      const list = `write faults in the list \`faults\`: \`- ${key}: …\``
      return theirs === undefined ? list : `${list}; in other tools' terms: ${theirs}`
    }
    if (isRule && has(schema, key)) return `\`${key}\` belongs to the file, beside \`rules\``
    if (!isFile && !isRule && !inMatch) {
      // `connection` is used in rules of its own, so that none of its keys was meant.
      const owner = FAULTS.find(
        ({ name, schema: own }) => name !== 'connection' && has(own as SchemaNode, key),
      )
      if (owner !== undefined && path.length === 5)
        return `\`${key}\` is a parameter of \`${owner.name}\``
      if (has(match, key)) return `write \`${key}\` under \`match\`, on the rule`
    }
    if (!isFile && !isRule && has(rule, key))
      return `write \`${key}\` on the rule, beside \`faults\``
    return undefined
  }
}
