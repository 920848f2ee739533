import type { FaultName } from '../../filters/index.ts'
import { toolOf, type Call } from '../../mcp/call.ts'
import { isOfTask } from '../../mcp/task-tools.ts'
import { caseFolded } from '../../base/text/case-fold.ts'
import { compileText } from '../match/text-match.ts'
import { canonicalPath } from '../../http/canonical-path.ts'

/**
 * Limits from outside the rules file, for all rules. The file can tighten but never loosen them.
 */
export interface RuleLimits {
  /** The highest percentage of its matched calls that a rule may inject faults into, 0 to 100. */
  readonly maxPercent?: number | undefined
  /** The longest that any rule may be active, in milliseconds. */
  readonly maxDuration?: number | undefined
  /** Faults in progress at the same moment, over all rules. */
  readonly maxActive?: number | undefined
  /** A rule that uses any other fault never acts. Undefined allows all. */
  readonly allowFaults?: readonly FaultName[] | undefined
  /** Names or globs of tools; no rule injects into an exchange that carries a call of one. */
  readonly denyTools?: readonly string[] | undefined
  /** Paths, or globs of them; no rule injects into requests for them. */
  readonly excludePaths?: readonly string[] | undefined
  /** Everything is matched, sampled and counted; nothing is done. */
  readonly dryRun?: boolean | undefined
}

/**
 * The first fault of a rule that the limits do not allow; undefined when it may use all of its own.
 */
export function forbiddenFault(
  faults: readonly FaultName[],
  { allowFaults }: RuleLimits,
): FaultName | undefined {
  if (allowFaults === undefined) return undefined
  return faults.find((fault) => !allowFaults.includes(fault))
}

/** Recognizes calls of denied tools; undefined when no tool is denied. */
export function deniedCalls({ denyTools }: RuleLimits): ((call: Call) => boolean) | undefined {
  if (denyTools === undefined || denyTools.length === 0) return undefined
  const tools = compileText(denyTools)
  // A server may take another spelling for the same tool.
  const spelled = compileText(denyTools.map(caseFolded))
  return (call) => {
    const tool = toolOf(call)
    // A task whose tool is not known may be of a denied one.
    if (tool === undefined) return isOfTask(call)
    return tools.test(tool) || spelled.test(caseFolded(tool))
  }
}

/** Recognizes paths at which no rule acts; undefined when there are none. */
export function excludedPaths({
  excludePaths,
}: RuleLimits): ((path: string) => boolean) | undefined {
  if (excludePaths === undefined || excludePaths.length === 0) return undefined
  const paths = compileText(excludePaths.map(canonicalPath))
  return (path) => paths.test(canonicalPath(path))
}
