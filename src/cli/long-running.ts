import { interruption } from '../base/signals.ts'
import type { Logger } from '../telemetry/log.ts'

/**
 * Keeps the process running after an uncaught error: a bug on one exchange must not end the others.
 */
export function surviveOwnErrors(logger: Logger, strict = false): void {
  const survive = (error: unknown): void => {
    logger.error({ err: error }, 'an error inside Squall was not caught')
    if (strict) process.exit(1)
  }
  process.on('uncaughtException', survive)
  process.on('unhandledRejection', survive)
}

/** Aborts at the first signal, which asks for a drain. The second ends the process. */
export function drainSignal(logger: Logger): AbortSignal {
  return interruption(1, ['SIGTERM', 'SIGINT'], (signal) => {
    logger.info({ signal }, 'draining; a second signal ends at once')
  }).signal
}

/** The exit code by which shells report a program that Ctrl-C ended. */
export const INTERRUPTED = 130
