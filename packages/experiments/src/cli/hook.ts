import { fieldsOf, parsedJson, plain } from '#base'
import type { MCP_HOOK } from '../commands/policy.ts'
import { freezePolicy } from '../policy/frozen-policy.ts'
import { callProblems, type ToolCall } from '../policy/reach.ts'
import { notePolicy, realPath } from '../policy/trust.ts'
import { readText, type RequestOf, UsageError } from '#cli'

/** Limits the size of an event. */
const MAX_EVENT_BYTES = 1024 * 1024
const ALLOWED = 0
/** Agents make no call after this exit code, and show the model the standard error. */
const REFUSED = 2

/**
 * Checks the hook event on standard input; returns the exit code. An event that cannot be read, or
 * checked, is refused.
 */
export async function checkHook({ path, state }: RequestOf<typeof MCP_HOOK>): Promise<number> {
  try {
    const frozen = await freezePolicy({ policy: path, trust: state })
    await notePolicy(state, path)
    const policy = frozen.read()
    const event = eventOf(await readText('-', MAX_EVENT_BYTES, 'the event'))
    const { isChanged } = frozen
    const files = { policy: await realPath(path), state, isChanged, directory: event.directory }
    const problems = await callProblems(event, policy, files)
    return problems.length === 0 ? ALLOWED : refuse(problems)
  } catch (error) {
    // Agents make the call after any other exit code.
    return refuse((error instanceof Error ? error.message : String(error)).trim().split('\n'))
  }
}

function refuse(problems: readonly string[]): number {
  const lines = problems.map((problem) => `squall mcp hook denies this call: ${plain(problem)}\n`)
  process.stderr.write(lines.join(''))
  return REFUSED
}

/** Reads an event. Some agents write the input of the tool as text. */
function eventOf(text: string): ToolCall & { readonly directory: string } {
  const event = asJson(text)
  if (event === text) throw noEvent('not valid JSON')
  const { tool_name: tool, tool_input: given, url, command, cwd } = fieldsOf(event)
  // A shell hook of Cursor has the command alone.
  const isShell = given === undefined && typeof command === 'string'
  const input = isShell ? { command } : typeof given === 'string' ? asJson(given) : given
  if (input === undefined) throw noEvent('tool_input is missing')
  return {
    tool: isShell ? 'Shell' : (textOf(tool) ?? ''),
    input,
    url: textOf(url),
    command: textOf(command),
    directory: textOf(cwd) ?? process.cwd(),
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function asJson(text: string): unknown {
  const value = parsedJson(text)
  return value === undefined ? text : value
}

function noEvent(why: string): UsageError {
  return new UsageError(
    'INVALID_VALUE',
    `invalid hook event: ${why}`,
    'pass a PreToolUse hook event on standard input',
  )
}
