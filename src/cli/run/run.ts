import { once } from 'node:events'
import { BindError } from '../../listener/front/bind.ts'
import type { Sidecar } from '../../listener/sidecar.ts'
import { createLogger, isForPeople, type Logger } from '../../telemetry/log.ts'
import { assemble } from './assemble.ts'
import type { RunOptions } from '../commands/run.ts'
import { UsageError } from '../flags/usage-error.ts'
import { drainSignal, surviveOwnErrors } from '../long-running.ts'

/** Runs the sidecar until a signal stops it; returns the exit code. */
export async function run(options: RunOptions): Promise<number> {
  const logger = createLogger({ level: options.logLevel, format: options.logFormat })
  surviveOwnErrors(logger, options.strict)
  // Before the start: a supervisor may stop the sidecar as soon as the log says that it listens.
  const stop = drainSignal(logger)
  const running = await assemble(options, logger).catch((error: unknown) => {
    if (!(error instanceof BindError)) throw error
    throw new UsageError('CANNOT_LISTEN', error.problem, error.remedy)
  })
  // In a pod, the readiness probe asks; each question is a connection to the app.
  if (isForPeople(options.logFormat)) void reportMissingApp(running.sidecar, logger)
  if (!stop.aborted) await once(stop, 'abort')
  await running.drain()
  logger.info({}, 'stopped')
  logger.flush()
  return 0
}

/** Warns when the app does not accept connections at the start, unless it is expected to start later. */
async function reportMissingApp(sidecar: Sidecar, logger: Logger): Promise<void> {
  const { ready, reason, listening } = await sidecar.readiness()
  if (!ready && listening) logger.warn({ reason }, 'calls fail until the upstream is up')
}
