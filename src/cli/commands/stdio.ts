import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { onSignals } from '../../base/signals.ts'
import { deepFreeze } from '../../base/values.ts'
import { PipeWriter } from '../../listener/stdio/pipe-writer.ts'
import type { ServerExit } from '../../listener/stdio/server-process.ts'
import { boundedOutput, createLogger } from '../../telemetry/log.ts'
import { defineCommand } from '../flags/command.ts'
import { type Environment, readFlags, type Values } from '../../base/flags/flag.ts'
import { size } from '../../base/flags/kinds.ts'
import { invalidCombination, missing, UsageError } from '../../base/flags/usage-error.ts'
import { surviveOwnErrors } from '../ending.ts'
import { RULES_FLAGS } from '../../sidecar/rules-options.ts'
import { RUN_FLAGS, runOptionsOf } from '../../sidecar/run-options.ts'
import { TAPE_FLAGS } from '../../sidecar/tape-options.ts'
import { TASK_FLAGS } from '../../sidecar/task-options.ts'

const MIB = 1024 * 1024

/** Returns a flag of `squall run` with another help or default. */
function changed<Flag>(flag: Flag, own: { readonly help?: string; readonly default?: string }) {
  return { ...flag, ...own }
}

const { headerFaults: _, headerFaultsMaxPercent: __, ...OWN_RULES } = RULES_FLAGS
const { taskHeader: ___, ...OWN_TASKS } = TASK_FLAGS

const FLAGS = {
  admin: changed(RUN_FLAGS.admin, {
    help: 'address of the admin port (metrics, live page, admin API), such as 127.0.0.1:15390; off disables it',
    default: 'off',
  }),
  adminTokenFile: RUN_FLAGS.adminTokenFile,
  adminHosts: RUN_FLAGS.adminHosts,
  adminReadTokenFile: RUN_FLAGS.adminReadTokenFile,
  ...OWN_RULES,
  maxBody: {
    ...RUN_FLAGS.maxBody,
    ...size(
      'maximum length of a line to parse; longer lines pass through unparsed',
      { min: 1024, max: 256 * MIB },
      '16MiB',
    ),
  },
  maxMemory: RUN_FLAGS.maxMemory,
  maxInFlight: RUN_FLAGS.maxInFlight,
  inFlightTtl: RUN_FLAGS.inFlightTtl,
  drainTimeout: changed(RUN_FLAGS.drainTimeout, {
    help: 'how long to wait for delayed messages after the client closes standard input; 0s means no wait',
    default: '1s',
  }),
  failOnViolation: changed(RUN_FLAGS.strict, {
    help: 'log server lines that violate the protocol; if there were any, exit with code 1 where the server exits with code 0',
  }),
  metricsDetail: RUN_FLAGS.metricsDetail,
  logLevel: RUN_FLAGS.logLevel,
  logFormat: RUN_FLAGS.logFormat,
  logIds: RUN_FLAGS.logIds,
  errorMessages: RUN_FLAGS.errorMessages,
  callLog: changed(RUN_FLAGS.callLog, {
    help: 'file for one JSON line per completed call',
  }),
  callLogSize: RUN_FLAGS.callLogSize,
  logInjections: RUN_FLAGS.logInjections,
  ...TAPE_FLAGS,
  ...OWN_TASKS,
}

export const STDIO = defineCommand({
  name: 'stdio',
  examples: [
    'stdio --rules rules.yaml -- python server.py',
    'stdio --rules rules.yaml --admin 127.0.0.1:15390 -- npx -y @modelcontextprotocol/server-everything',
  ],
  page: 'docs/guides/stdio.md',
  description:
    'run a stdio MCP server and inject faults into its calls; clients start this command instead of the server',
  operands: { form: '<command...>', most: Infinity },
  flags: FLAGS,
  note: `
Put the server command after --. Standard output carries only MCP messages. Logs go to standard error,
as do the server's. Squall exits with the exit code of the server.`,
  parse: (flags, { env, operands }) => stdioOptionsOf(flags, env, operands),
  start: stdio,
})

/** Checks the flags and the command of the server. Throws a `UsageError`. */
function stdioOptionsOf(
  flags: Values<typeof FLAGS>,
  env: Environment,
  [command, ...args]: readonly string[],
) {
  if (command === undefined) {
    throw missing('no server command', 'add it after --, such as -- python server.py')
  }
  if (flags.callLog === '-') {
    throw invalidCombination('--call-log -: standard output is for the client', 'name a file')
  }
  const others = readFlags(RUN_FLAGS, new Map(), {})
  const own = {
    listen: [],
    upstream: [],
    readyWithoutUpstream: true,
    strict: flags.failOnViolation,
  }
  const all = { ...others, ...flags, ...own }
  return deepFreeze({ ...runOptionsOf(all, env), stdio: { command, args } })
}

type StdioOptions = ReturnType<typeof stdioOptionsOf>

const FORWARDED = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const

/** The longest wait for a reader of standard error, in milliseconds. */
const MOST_FLUSHING = 1_000

/** Runs the server until it ends; returns its exit code. */
async function stdio(asked: StdioOptions): Promise<number> {
  const { logFormat } = asked
  // The log is on standard error, and standard output belongs to the server.
  const form = process.stderr.isTTY ? 'pretty' : 'json'
  const options = { ...asked, logFormat: logFormat === 'auto' ? form : logFormat }
  const destination = boundedOutput(process.stderr)
  const logger = createLogger({ level: options.logLevel, format: options.logFormat, destination })
  surviveOwnErrors(logger)
  const early: NodeJS.Signals[] = []
  let forward = (signal: NodeJS.Signals): void => void early.push(signal)
  const forget = onSignals(FORWARDED, (signal) => forward(signal))
  const { assemble } = await import('../../sidecar/assemble.ts')
  const running = await assemble(options, logger).catch((error) => startFailed(error, options))
  const { stdio: port } = running.sidecar
  if (port === undefined) return 1
  forward = (signal) => port.signal(signal)
  early.forEach(forward)
  let isLost = false
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    // A client that closed the pipe has ended.
    if (code === 'EPIPE') return
    isLost = true
    logger.error({ why: code ?? message }, 'standard output cannot be written')
  })
  const exit = await port.carry()
  const found = Object.entries(port.violations).filter(([, count]) => count > 0)
  const violations = Object.fromEntries(found)
  logger.info({ code: exit.code, signal: exit.signal, violations }, 'the server exited')
  await running.close()
  forget()
  logger.flush()
  await Promise.race([new PipeWriter(process.stderr).flushed(), sleep(MOST_FLUSHING)])
  // The regular end of Squall would wait for a client that reads nothing.
  return process.exit(exitCodeOf(exit) || (isLost || found.length > 0 ? 1 : 0))
}

async function startFailed(error: unknown, { admin }: StdioOptions): Promise<never> {
  const { BindError } = await import('../../listener/front/bind.ts')
  const { StartError } = await import('../../listener/stdio/server-process.ts')
  if (error instanceof BindError) {
    throw await (await import('../cannot-listen.ts')).cannotListen(error, admin)
  }
  if (!(error instanceof StartError)) throw error
  const fix = 'check the command after --, and that the client finds it in its PATH'
  throw new UsageError('CANNOT_START', `the server cannot be started: ${error.message}`, fix)
}

/** Returns the exit code of the server, or ends by the signal that ended the server. */
function exitCodeOf({ code, signal }: ServerExit): number {
  if (signal === null) return code ?? 1
  process.kill(process.pid, signal)
  // The signal may be one that Node handles.
  return 128 + constants.signals[signal]
}
