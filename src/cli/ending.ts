import type { Logger } from '../telemetry/log.ts'
import { interruption } from '../base/signals.ts'
import { asInvoked } from '../base/program.ts'
import { UsageError } from '../base/flags/usage-error.ts'
import { oneLine } from '../base/text/foreign-text.ts'
import { rawTrouble } from '../base/system-reason.ts'
import type { FileProblems } from '../rules/file/problem.ts'

/** The exit code by which shells report a program that Ctrl-C ended. */
export const INTERRUPTED = 130
const FAILED = 1
const INVALID_USAGE = 2
const MAX_MESSAGE = 2_000

/**
 * `hasBegun` is set with the first output: an error after it must not be a second result. `isLog`
 * is set by a command that carries traffic, which must not end with its log.
 */
export const output = { hasBegun: false, isLog: false }

/** Ends a command that a signal stopped before it had a result. */
export class InterruptedError extends Error {}

/** Ends a command because of files with errors; `listed` shows them above the message. */
export class InvalidFilesError extends UsageError {
  readonly files: readonly FileProblems[]
  readonly listed: string

  constructor(wrong: string, files: readonly FileProblems[], listed: string) {
    super('INVALID_FILE', wrong, 'fix the listed errors')
    this.files = files
    this.listed = listed
  }
}

/** Returns the exit code and the output with which an error ends a command line. */
export function endingOf(
  error: unknown,
  args: readonly string[],
): { readonly code: number; readonly stdout: string; readonly stderr: string } {
  const reason = rawTrouble(error) ?? (error instanceof Error ? error.message : String(error))
  const message = oneLine(withFix(reason), MAX_MESSAGE)
  const { files: invalid, listed = '' } = error instanceof InvalidFilesError ? error : {}
  const files = invalid?.map((each) => ({ ...each, ok: false }))
  const stdout = asksJson(args) ? `${JSON.stringify({ ok: false, error: message, files })}\n` : ''
  const isUsage = error instanceof UsageError
  const code = isUsage ? INVALID_USAGE : error instanceof InterruptedError ? INTERRUPTED : FAILED
  return { code, stdout, stderr: `${listed}squall: ${message}\n` }
}

/** Returns true for `--json` among the options of Squall: those after `--` are of another program. */
function asksJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  if (['true', '1'].includes(process.env['SQUALL_JSON'] ?? '')) return true
  return (end < 0 ? args : args.slice(0, end)).includes('--json')
}

/** Returns a message whose fix can be copied into the same shell. */
function withFix(message: string): string {
  const fix = message.lastIndexOf('; ')
  return fix < 0 ? message : `${message.slice(0, fix)}${asInvoked(message.slice(fix))}`
}

/**
 * Keeps the process running after an uncaught error, and when the log cannot be written: neither
 * may end the exchanges that are open.
 */
export function surviveOwnErrors(logger: Logger, strict = false): void {
  output.isLog = true
  const survive = (error: unknown): void => {
    logger.error({ err: error }, 'an error inside Squall was not caught')
    if (strict) process.exit(1)
  }
  process.on('uncaughtException', survive)
  process.on('unhandledRejection', survive)
}

/** The time between two looks at whether npm is still there, in milliseconds. */
const LOOK_MS = 500

/**
 * Aborts at the first signal, which asks for a drain. The second ends the process. `npx mcp-squall` that
 * is killed leaves the process without a signal, which counts as one.
 */
export function drainSignal(logger: Logger): AbortSignal {
  const { signal } = interruption(1, ['SIGTERM', 'SIGINT'], (name) => {
    logger.info({ signal: name }, 'draining; a second signal exits at once')
  })
  const { npm_lifecycle_event: event, npm_lifecycle_script: script = '' } = process.env
  if (event !== 'npx' || !script.includes('squall')) return signal
  const { ppid } = process
  const timer = setInterval(() => {
    if (process.ppid !== ppid) process.emit('SIGTERM', 'SIGTERM')
  }, LOOK_MS).unref()
  // A signal to the whole group ends npx as well, which must not count as a second one.
  signal.addEventListener('abort', () => clearInterval(timer))
  return signal
}
