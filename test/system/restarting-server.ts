import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Program, startProgram } from '../support/commands.ts'
import { freePort } from '../support/wire.ts'

const SERVER = fileURLToPath(new URL('../../examples/server.mjs', import.meta.url))

/** A server that a supervisor restarts. */
export interface RestartingServer {
  readonly port: number
  /** The pause before a restart. */
  pauseMs: number
  close(): Promise<void>
}

/**
 * A server that is started again when it dies, as a supervisor would, and a file with its number.
 */
export async function startRestarting(pidFile: string): Promise<RestartingServer> {
  const port = await freePort()
  let child: Program
  let closed = false
  const start = async (): Promise<void> => {
    child = startProgram([SERVER], { PORT: String(port) }, { program: process.execPath })
    void restart()
    await child.firstLine()
    await writeFile(pidFile, String(child.child.pid), { mode: 0o600 })
  }
  const restart = async (): Promise<void> => {
    await child.ended
    await sleep(server.pauseMs)
    if (!closed) await start()
  }
  const server: RestartingServer = {
    port,
    pauseMs: 0,
    close: async () => {
      closed = true
      await child.kill()
    },
  }
  await start()
  return server
}
