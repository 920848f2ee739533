import { isRecord, plain } from '#base'
import { payloadProblems } from '../policy/payload-check.ts'
import { readText, UsageError } from '#cli'
import { readPolicyFile } from './policy.ts'

/** Limits the size of an event. */
const MAX_EVENT_BYTES = 1024 * 1024
const ALLOWED = 0
/** Agents make no call after this exit code, and show the model the standard error. */
const REFUSED = 2

/**
 * Checks the hook event on standard input; returns the exit code. An event that cannot be read is
 * refused.
 */
export async function checkHook(policyPath: string): Promise<number> {
  try {
    const policy = await readPolicyFile(policyPath)
    const payload = payloadOf(await readText('-', MAX_EVENT_BYTES, 'the event'))
    const problems = payloadProblems(payload, policy)
    if (problems.length === 0) return ALLOWED
    return refuse(problems)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return refuse([error.message])
  }
}

function refuse(problems: readonly string[]): number {
  const lines = problems.map((problem) => `squall hook refuses this call: ${plain(problem)}\n`)
  process.stderr.write(lines.join(''))
  return REFUSED
}

/** Returns the input of the tool, which some agents write as text, and the URL of its server. */
function payloadOf(text: string): unknown {
  let event: unknown
  try {
    event = JSON.parse(text)
  } catch {
    throw noEvent('it is not JSON')
  }
  const input = isRecord(event) ? event['tool_input'] : undefined
  if (input === undefined) throw noEvent('it has no tool_input')
  return isRecord(event) && event['url'] !== undefined ? { input, url: event['url'] } : input
}

function noEvent(why: string): UsageError {
  return new UsageError(
    'INVALID_VALUE',
    `the event cannot be read: ${why}`,
    'send the event of a PreToolUse hook on standard input',
  )
}
