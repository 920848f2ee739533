import { isRecord } from '../../base/values.ts'
import type { ToolInfo } from './clients/load-client.ts'
import { LoadError } from './load-error.ts'
import type { LoadWork } from './load-options.ts'
import type { LeftOutTool } from './results/result.ts'

/** Tells what a tool says of its effects: by its annotations, which it may not have. */
export type ToolHint = 'reads' | LeftOutTool['why']

/** Asks whether tools may be called that do not say whether they only read. */
export type Consent = (tools: readonly string[]) => boolean | Promise<boolean>

/** The tools that are called, and those that are not. */
export interface ChosenTools {
  readonly work: LoadWork
  readonly leftOut: readonly LeftOutTool[]
}

/** Nobody has named the tools that would have to be called. */
export class ToolsNotNamedError extends LoadError {
  /** Those that are most likely meant, separated by commas. */
  readonly names: string
  /** Consent would do, in the place of names. */
  readonly mayConsent: boolean

  constructor(wrong: string, listed: readonly ToolInfo[]) {
    const mild = listed.filter(({ hint }) => hint === 'reads' || hint === 'no_hint')
    const names = shownNames(
      (mild.length > 0 ? mild : listed).map(({ name }) => name).filter((name) => SAFE.test(name)),
    )
    super('TOOLS_NOT_NAMED', wrong, `name what may be called: ${names}`)
    this.names = names
    this.mayConsent = listed.some(({ hint }) => hint === 'no_hint')
  }
}

/** Names are not repeated in a message beyond this. */
const MAX_SHOWN = 20

/**
 * Reads the hints of a tool. What is not read-only is destructive unless it denies that; a tool that
 * claims both is taken for destructive. Null is how some servers write that there is no hint.
 */
export function toolHint(annotations: unknown): ToolHint {
  const { readOnlyHint, destructiveHint } = isRecord(annotations) ? annotations : {}
  const reads = readOnlyHint ?? undefined
  const destroys = destructiveHint ?? undefined
  if (destroys !== undefined && destroys !== false) return 'destructive'
  if (reads === true) return 'reads'
  if (destroys === false) return 'not_read_only'
  return reads === undefined ? 'no_hint' : 'destructive'
}

/**
 * Chooses what is called: tools that were named, or else those that only read. Throws a `LoadError`
 * where it takes a name, or consent, to call anything more.
 */
export async function chooseTools(
  work: LoadWork,
  listed: readonly ToolInfo[],
  consent: Consent | undefined,
): Promise<ChosenTools> {
  const named = work.tools.length > 0 || work.calls.length > 0
  if (named || listed.length === 0) return { work, leftOut: [] }
  const unmarked = listed.filter(({ hint }) => hint === 'no_hint').map(({ name }) => name)
  if (unmarked.length > 0 && consent === undefined) {
    throw new ToolsNotNamedError(
      `${unmarked.length === 1 ? 'a tool does not say whether it only reads' : `${unmarked.length} tools do not say whether they only read`} (readOnlyHint): ${shownNames(unmarked)}`,
      listed,
    )
  }
  const agreed = unmarked.length > 0 && (await consent!(unmarked))
  const leftOut: LeftOutTool[] = []
  for (const { name, hint } of listed) {
    const called = hint === 'reads' || (hint === 'no_hint' && agreed)
    if (!called) leftOut.push({ tool: name, why: hint })
  }
  // A name that is listed twice is called only if both may be.
  const excluded = new Set(leftOut.map(({ tool }) => tool))
  const tools = listed.map(({ name }) => name).filter((name) => !excluded.has(name))
  if (tools.length > 0) return { work: { ...work, tools }, leftOut }
  throw new ToolsNotNamedError(
    `no tool says that it only reads: ${shownNames(leftOut.map(({ tool }) => tool))}`,
    listed,
  )
}

/** Names that mean nothing else to a shell: the server chooses them, and the message is pasted. */
const SAFE = /^[\w./:-]+$/

function shownNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_SHOWN).map((name) => name.slice(0, 100))
  return `${shown.join(', ')}${names.length > MAX_SHOWN ? `, … ${names.length - MAX_SHOWN} more` : ''}`
}
