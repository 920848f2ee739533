import { fieldsOf } from '#base'
import type { ToolHint, ToolInfo } from './clients/load-client.ts'
import { LoadError } from './load-error.ts'
import type { LoadWork } from './load-options.ts'
import type { LeftOutTool } from './results/result.ts'

/** Asks for consent to call tools without a `readOnlyHint`. */
export type Consent = (tools: readonly string[]) => boolean | Promise<boolean>

/** Reports that no tool may be called unless the user names tools. */
export class ToolsNotNamedError extends LoadError {
  /** The most likely candidates, separated by commas. */
  readonly names: string
  /** True when consent would be enough. */
  readonly mayConsent: boolean

  constructor(wrong: string, listed: readonly ToolInfo[]) {
    const mild = listed.filter(({ hint }) => hint === 'reads' || hint === 'no_hint')
    const names = shownNames(
      (mild.length > 0 ? mild : listed).map(({ name }) => name).filter((name) => SAFE.test(name)),
    )
    super('TOOLS_NOT_NAMED', wrong, `pass the tools to call: ${names}`)
    this.names = names
    this.mayConsent = listed.some(({ hint }) => hint === 'no_hint')
  }
}

/** Limits the number of names in a message. */
const MAX_SHOWN = 20

/**
 * Reads the hints of a tool. A tool that is not read-only is destructive unless `destructiveHint`
 * is false; a tool with both hints is destructive. Some servers write null for a missing hint.
 */
export function toolHint(annotations: unknown): ToolHint {
  const { readOnlyHint, destructiveHint } = fieldsOf(annotations)
  const reads = readOnlyHint ?? undefined
  const destroys = destructiveHint ?? undefined
  if (destroys !== undefined && destroys !== false) return 'destructive'
  if (reads === true) return 'reads'
  if (destroys === false) return 'not_read_only'
  return reads === undefined ? 'no_hint' : 'destructive'
}

/**
 * Chooses the named tools, or else the read-only tools. Throws a `LoadError` when names or consent
 * are required.
 */
export async function chooseTools(
  work: LoadWork,
  listed: readonly ToolInfo[],
  consent: Consent | undefined,
): Promise<{ work: LoadWork; leftOut: readonly LeftOutTool[] }> {
  const named = work.tools.length > 0 || work.calls.length > 0
  if (named || listed.length === 0) return { work, leftOut: [] }
  const unmarked = listed.filter(({ hint }) => hint === 'no_hint').map(({ name }) => name)
  if (unmarked.length > 0 && consent === undefined) {
    throw new ToolsNotNamedError(
      `${unmarked.length === 1 ? 'a tool does not declare whether it is read-only' : `${unmarked.length} tools do not declare whether they are read-only`} (readOnlyHint): ${shownNames(unmarked)}`,
      listed,
    )
  }
  const agreed = unmarked.length > 0 && (await consent!(unmarked))
  const leftOut: LeftOutTool[] = []
  for (const { name, hint } of listed) {
    const called = hint === 'reads' || (hint === 'no_hint' && agreed)
    if (!called) leftOut.push({ tool: name, why: hint })
  }
  // A name that is listed twice is called only if both tools may be called.
  const excluded = new Set(leftOut.map(({ tool }) => tool))
  const tools = listed.map(({ name }) => name).filter((name) => !excluded.has(name))
  if (tools.length > 0) return { work: { ...work, tools }, leftOut }
  throw new ToolsNotNamedError(
    `no tool declares readOnlyHint: true, so none is called by default: ${shownNames(leftOut.map(({ tool }) => tool))}`,
    listed,
  )
}

/** Quotes names for a shell: the server chooses the names, and users paste the message. */
const SAFE = /^[\w./:-]+$/

function shownNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_SHOWN).map((name) => name.slice(0, 100))
  return `${shown.join(', ')}${names.length > MAX_SHOWN ? `, … ${names.length - MAX_SHOWN} more` : ''}`
}
