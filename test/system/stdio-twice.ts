import { fileURLToPath } from 'node:url'
import { type OpenClient, openClient } from '../support/wire.ts'
import { throughSquall } from '../support/commands.ts'

/** The command of the reference server. */
export const EVERYTHING = [
  process.execPath,
  fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js')),
  'stdio',
]

/** The clients of the TypeScript SDKs. */
export const CLIENTS: readonly [string, OpenClient][] = [
  ['SDK v1', openClient('v1')],
  ['SDK v2', openClient('v2')],
  ['SDK v2 that asks for the newest protocol version', openClient('v2 auto')],
]

/** Plays a scenario with a server itself, and with `squall stdio` in front of it. */
export async function twice<T>(
  server: readonly string[],
  playWith: (command: readonly string[]) => Promise<T>,
): Promise<{ readonly direct: T; readonly through: T }> {
  const [direct, through] = await Promise.all(
    [server, throughSquall([], [...server])].map((command) => playWith(command)),
  )
  return { direct: direct!, through: through! }
}
