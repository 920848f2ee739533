import { once } from 'node:events'
import { type Fields, quoted, readVersion } from '#base'
import { drainSignal, surviveOwnErrors, UsageError } from '#cli'
import { assemble, BindError, createLogger } from '#sidecar'
import type { ServeRequest } from '../commands/tape.ts'
import { withToken } from '../cli/server-flags.ts'
import { openEndpoint } from '../load/clients/open-endpoint.ts'
import { LoadError } from '../load/load-error.ts'
import { type PlayedCall, Player } from './player.ts'
import { serveLines } from './serve-lines.ts'
import { withTape } from './tape.ts'
import { TapeUpstream } from './tape-upstream.ts'

const CALL_TIMEOUT = 60_000

/** Serves a tape until a signal, or the end of standard input; returns the exit code. */
export function serveTape({ file, play, live, stdio, run }: ServeRequest): Promise<number> {
  return withTape(file, async (tape) => {
    const destination = stdio ? process.stderr : undefined
    const { logLevel: level, logFormat: format } = run
    const logger = createLogger({ level, format, ...(destination && { destination }) })
    surviveOwnErrors(logger)
    const stop = drainSignal(logger)
    const server = live && (await liveServer(live))
    const onCall = ({ from, method, name, occurrence }: PlayedCall): void => {
      if (from === 'tape' || from === 'default') return
      const tool = name === '' ? undefined : quoted(name)
      const asked = { method: quoted(method), tool, occurrence, response: from }
      logger.warn(asked, 'a call is off the tape')
    }
    const player = new Player(tape, { ...play, live: server?.call, onCall })
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
  })
}

/** Opens a client of a live server. Throws a `LoadError`. */
export async function liveServer({
  upstream: url,
  header,
  authTokenFile,
}: NonNullable<ServeRequest['live']>) {
  const target = { url, client: 'lean' as const, headers: await withToken(header, authTokenFile) }
  const endpoint = await openEndpoint(target, readVersion()).catch((error: unknown) => {
    if (!(error instanceof LoadError)) throw error
    throw new LoadError(error.code, error.wrong, error.fix.replaceAll('--target', '--upstream'))
  })
  const client = await endpoint.connect()
  const bounds = { timeoutMs: CALL_TIMEOUT, signal: new AbortController().signal }
  return {
    tools: endpoint.tools,
    call: (tool: string, args: Fields) => client.call(tool, args, bounds),
    close: async () => {
      await client.close()
      await endpoint.close()
    },
  }
}
