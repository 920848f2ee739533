import { once } from 'node:events'
import type { Sidecar } from '../../listener/sidecar.ts'
import { createLogger, isForPeople, type Logger } from '../../telemetry/log.ts'
import { defineCommand } from '../flags/command.ts'
import { drainSignal, surviveOwnErrors } from '../ending.ts'
import type { Running } from '../../sidecar/assemble.ts'
import { RUN_FLAGS, type RunOptions, runOptionsOf } from '../../sidecar/run-options.ts'
import { checkTlsFiles } from '../../sidecar/run-tls.ts'

export const RUN = defineCommand({
  name: 'run',
  examples: [
    'run --upstream http://127.0.0.1:3000 --rules rules.yaml',
    'run --listen 127.0.0.1:15300 --upstream http://127.0.0.1:3000 --rules rules.yaml --dry-run',
  ],
  page: 'docs/guides/operations.md',
  description:
    'run the sidecar: accept traffic on one address and forward it to your MCP server on another',
  flags: RUN_FLAGS,
  note: `
Environment variables can set each option: SQUALL_MAX_HEADER_SIZE sets --max-header-size. Set switches to
true or false, and separate repeated values with commas. The command line takes precedence.
Sizes: 1024, 64KiB, 4MiB. Durations: 300ms, 5s, 10m, 1h.`,
  parse: (flags, { env }) => runOptionsOf(flags, env),
  start: run,
})

/** Runs the sidecar until a signal stops it; returns the exit code. */
async function run(options: RunOptions): Promise<number> {
  checkTlsFiles(options)
  const logger = createLogger({ level: options.logLevel, format: options.logFormat })
  surviveOwnErrors(logger, options.strict)
  // Before the start: a supervisor may stop the sidecar as soon as the log says that it listens.
  const stop = drainSignal(logger)
  const { assemble } = await import('../../sidecar/assemble.ts')
  const started = assemble(options, logger)
  if (options.callLog !== undefined) {
    const reopen = ({ callLog }: Running): void => callLog?.reopen()
    process.on('SIGHUP', () => void started.then(reopen, () => undefined))
  }
  const running = await started.catch(async (error: unknown) => {
    const { BindError } = await import('../../listener/front/bind.ts')
    if (!(error instanceof BindError)) throw error
    throw await (await import('../cannot-listen.ts')).cannotListen(error, options.admin)
  })
  void reportMissingUpstream(running.sidecar, logger, isForPeople(options.logFormat))
  if (!stop.aborted) await once(stop, 'abort')
  await running.drain()
  logger.info({}, 'stopped')
  logger.flush()
  return 0
}

/**
 * Logs that the upstream does not accept connections at the start. People are warned; in a pod the
 * upstream may start later, and the readiness probe asks again.
 */
async function reportMissingUpstream(
  sidecar: Sidecar,
  logger: Logger,
  isWarning: boolean,
): Promise<void> {
  const { ready, reason, listening } = await sidecar.readiness()
  if (ready || !listening) return
  logger[isWarning ? 'warn' : 'info']({ reason }, 'calls fail until the upstream is up')
}
