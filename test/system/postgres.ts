import { execFile } from 'node:child_process'
import { chmod, chown, mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { eventually } from '../support/eventually.ts'
import { startProgram } from '../support/commands.ts'
import { freePort } from '../support/wire.ts'
import { MissingToolError } from './tools.ts'

const run = promisify(execFile)

const DEBIAN = '/usr/lib/postgresql'
/** The user id for PostgreSQL, which rejects root. It needs no account. */
const USER_ID = 65_534

/** A PostgreSQL of its own on a port of loopback, with the table `docs`. */
export interface Postgres {
  readonly port: number
  /** Returns the number of connections that the server of the fixture has, as PostgreSQL counts. */
  connections(): Promise<number>
  close(): Promise<void>
}

/** Starts PostgreSQL with its data in a temporary directory. */
export async function startPostgres(wanted?: number): Promise<Postgres> {
  const programs = await programsOf()
  const directory = await mkdtemp(join(tmpdir(), 'squall-postgres-'))
  const data = join(directory, 'data')
  const isRoot = process.getuid?.() === 0
  if (isRoot) await chown(directory, USER_ID, USER_ID)
  await chmod(directory, 0o700)
  const start = (name: string, ...args: string[]) => {
    const command = [join(programs, name), ...args]
    const as = ['setpriv', `--reuid=${USER_ID}`, `--regid=${USER_ID}`, '--clear-groups', '--']
    const [program = '', ...rest] = isRoot ? [...as, ...command] : command
    return startProgram(rest, { LC_ALL: 'C' }, { program, cwd: directory })
  }
  const made = await start('initdb', '-D', data, '-U', 'squall', '-A', 'trust', '-N').finished()
  if (made.code !== 0) throw new Error(`initdb failed: ${made.stderr}`)
  const port = wanted ?? (await freePort())
  const place = ['-p', String(port), '-h', '127.0.0.1', '-k', '']
  const postgres = start('postgres', '-D', data, ...place, '-c', 'fsync=off')
  const query = async (sql: string): Promise<string> => {
    const to = ['-h', '127.0.0.1', '-p', String(port), '-U', 'squall', 'postgres']
    return (await run(join(programs, 'psql'), [...to, '-X', '-At', '-c', sql])).stdout.trim()
  }
  const refused = (): Promise<string | undefined> =>
    query('SELECT 1').then(
      () => undefined,
      () => `PostgreSQL does not respond: ${postgres.stderr()}`,
    )
  await eventually(refused).catch(async (error: unknown) => {
    await postgres.kill()
    throw error
  })
  await query("CREATE TABLE docs (id serial, title text); INSERT INTO docs (title) VALUES ('a')")
  return {
    port,
    connections: async () =>
      Number(
        await query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'docs-server'"),
      ),
    close: async () => {
      // Ends all connections, and waits until no process is left.
      postgres.signal('SIGINT')
      await postgres.ended
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Returns the directory with `postgres`, `initdb` and `psql`, also where Debian has it. */
async function programsOf(): Promise<string> {
  const versions = await readdir(DEBIAN).catch(() => [])
  const packaged = versions
    .sort((a, b) => Number(b) - Number(a))
    .map((each) => `${DEBIAN}/${each}/bin`)
  for (const directory of [...(process.env['PATH'] ?? '').split(delimiter), ...packaged]) {
    const found = await realpath(join(directory, 'postgres')).catch(() => undefined)
    if (found !== undefined) return dirname(found)
  }
  throw new MissingToolError('The program postgres')
}

const SERVER = fileURLToPath(new URL('../fixtures/postgres-server.mjs', import.meta.url))

/** The MCP server of the fixture, in its own process. */
export interface DocsServer {
  readonly url: string
  /** Returns the status of `/healthz`, and the pool's connections. */
  health(): Promise<{ readonly status: number; readonly database: string; readonly pool: Pool }>
  close(): Promise<void>
}

interface Pool {
  readonly open: number
  readonly idle: number
  readonly waiting: number
}

/** Starts the MCP server whose tools need the PostgreSQL at a port of loopback. */
export async function startDocsServer(databasePort: number, port = 0): Promise<DocsServer> {
  const database = `postgres://squall@127.0.0.1:${databasePort}/postgres`
  const env = { PORT: String(port), DATABASE_URL: database }
  const server = startProgram([SERVER], env, { program: process.execPath })
  const url = (await server.firstLine()).replace('listening on ', '')
  return {
    url,
    health: async () => {
      const response = await fetch(`${url}/healthz`)
      const body = (await response.json()) as { readonly database: string; readonly pool: Pool }
      return { status: response.status, ...body }
    },
    close: () => server.kill(),
  }
}
