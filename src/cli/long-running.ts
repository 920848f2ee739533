import { interruption } from '../base/signals.ts'
import type { Logger } from '../telemetry/log.ts'
import { output } from './ending.ts'

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
