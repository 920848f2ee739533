import { once } from 'node:events'
import { quoted, readVersion, systemReason } from '#base'
import { drainSignal, invalidFile, surviveOwnErrors, UsageError } from '#cli'
import { assemble, BindError, createLogger, type Logger } from '#sidecar'
import type { ServeRequest } from '../commands/tape.ts'
import { withToken } from '../cli/server-flags.ts'
import { openEndpoint } from '../load/clients/open-endpoint.ts'
import { LoadError } from '../load/load-error.ts'
import { type PlayedCall, Player, type PlayOptions } from './player.ts'
import { serveLines } from './serve-lines.ts'
import { Tape, TapeError } from './tape.ts'
import { TapeUpstream } from './tape-upstream.ts'

const CALL_TIMEOUT = 60_000

/** Serves a tape until a signal, or the end of standard input; returns the exit code. */
export function serveTape(request: ServeRequest): Promise<number> {
  return withTape(request.file, (tape) => servedTape(tape, request))
}

async function servedTape(
  tape: Tape,
  { file, play, live, stdio, run }: ServeRequest,
): Promise<number> {
  const destination = stdio ? process.stderr : undefined
  const { logLevel: level, logFormat: format } = run
  const logger = createLogger({ level, format, ...(destination && { destination }) })
  surviveOwnErrors(logger)
  const stop = drainSignal(logger)
  const server = live && (await liveServer(live))
  const player = playerOf(tape, {
    ...play,
    live: server?.call,
    onCall: (call) => logOff(call, logger),
  })
  const { calls, unread } = tape
  // The logger redacts what is named secrets.
  logger.info({ file, calls: calls.length, values: tape.header.secrets }, 'serving a tape')
  if (unread.count > 0) logger.warn({ ...unread }, 'unreadable lines of the tape were skipped')
  if (stdio) await serveLines(player, process.stdin, process.stdout, stop)
  else {
    const own = { name: `tape ${quoted(file)}`, upstream: new TapeUpstream(player) }
    const running = await assemble(run, logger, { own }).catch((error: unknown) => {
      if (!(error instanceof BindError)) throw error
      throw new UsageError('CANNOT_LISTEN', error.problem, error.remedy)
    })
    if (!stop.aborted) await once(stop, 'abort')
    await running.drain()
  }
  await server?.close()
  logger.flush()
  return 0
}

/** Opens a tape, and closes it after the use. Throws a `UsageError`. */
export async function withTape<T>(file: string, use: (tape: Tape) => Promise<T>): Promise<T> {
  const tape = await openTape(file)
  try {
    return await use(tape)
  } finally {
    await tape.close()
  }
}

/** Opens a tape. Throws a `UsageError`. */
export async function openTape(file: string): Promise<Tape> {
  try {
    return await Tape.open(file)
  } catch (error) {
    throw invalidFile(
      `the tape ${quoted(file)}: ${systemReason(error)}`,
      'specify a file written by squall run --tape',
    )
  }
}

/** Plays a tape. Throws a `UsageError` where its session is not clear. */
function playerOf(tape: Tape, options: PlayOptions): Player {
  try {
    return new Player(tape, options)
  } catch (error) {
    if (!(error instanceof TapeError)) throw error
    throw invalidFile(`the tape ${quoted(tape.path)}`, error.message)
  }
}

function logOff({ from, method, name, occurrence }: PlayedCall, logger: Logger): void {
  if (from === 'tape' || from === 'default') return
  const tool = name === '' ? undefined : quoted(name)
  logger.warn(
    { method: quoted(method), tool, occurrence, response: from },
    'a call is off the tape',
  )
}

type Live = NonNullable<ServeRequest['live']>
type Arguments = Readonly<Record<string, unknown>>

/** Opens a client of a live server. Throws a `LoadError`. */
export async function liveServer({ url, headers, authTokenFile }: Live) {
  const target = { url, client: 'lean' as const, headers: await withToken(headers, authTokenFile) }
  const endpoint = await openEndpoint(target, readVersion()).catch((error: unknown) => {
    if (!(error instanceof LoadError)) throw error
    throw new LoadError(error.code, error.wrong, error.fix.replaceAll('--target', '--upstream'))
  })
  const client = await endpoint.connect()
  const bounds = { timeoutMs: CALL_TIMEOUT, signal: new AbortController().signal }
  return {
    tools: endpoint.tools,
    /** Returns the result of a call. Rejects where there is none. */
    call: async (tool: string, args: Arguments): Promise<unknown> => {
      const { result, kind, code, message } = await client.call(tool, args, bounds)
      if (result !== undefined) return result
      throw new Error([kind, code, message].filter((word) => word !== undefined).join(' '))
    },
    /** Returns the result of a call, or its failure in the form of a tape. */
    part: async (tool: string, args: Arguments): Promise<unknown> => {
      const { result, kind, code } = await client.call(tool, args, bounds)
      if (result !== undefined) return result
      if (kind === 'rpc') return { error: { code } }
      return kind === 'http' ? { status: code } : { failed: kind }
    },
    close: async () => {
      await client.close()
      await endpoint.close()
    },
  }
}
