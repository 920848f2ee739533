import { BindError } from '../../listener/front/bind.ts'
import { createLogger, type Logger } from '../../telemetry/log.ts'
import { assemble, type Running } from './assemble.ts'
import type { RunOptions } from '../commands/run.ts'
import { UsageError } from '../flags/usage-error.ts'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** Runs the sidecar until a signal stops it. Returns the exit code. */
export async function run(options: RunOptions): Promise<number> {
  const logger = createLogger({ level: options.logLevel, format: options.logFormat })
  surviveOwnErrors(logger, options.strict)
  // Before the start: whoever reads that it listens may stop it at once.
  const asked = stopAsked(logger)
  const running = await start(options, logger)
  await asked
  await running.drain()
  logger.info({}, 'stopped')
  logger.flush()
  return 0
}

/** A bug on one exchange must not end all the others. */
function surviveOwnErrors(logger: Logger, strict: boolean): void {
  const survive = (error: unknown): void => {
    logger.error({ err: error }, 'an error inside Squall was not caught where it was made')
    if (strict) process.exit(1)
  }
  process.on('uncaughtException', survive)
  process.on('unhandledRejection', survive)
}

async function start(options: RunOptions, logger: Logger): Promise<Running> {
  try {
    return await assemble(options, logger)
  } catch (error) {
    if (!(error instanceof BindError)) throw error
    throw new UsageError('CANNOT_LISTEN', error.problem, error.remedy)
  }
}

/** The first signal asks for a drain; the second ends at once. */
function stopAsked(logger: Logger): Promise<void> {
  return new Promise((resolve) => {
    let asked = false
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        if (asked) process.exit(1)
        asked = true
        logger.info({ signal }, 'draining; a second signal ends at once')
        resolve()
      })
    }
  })
}
