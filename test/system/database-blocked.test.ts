// part: experiments
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { freePort, metricOf, openClient, startSidecar, startUpstream } from '../support/wire.ts'
import { startProgram } from '../support/commands.ts'
import { callAlways, type SeenCall } from './database-calls.ts'
import { runReady } from './ready-plan.ts'

// PostgreSQL, an MCP server with a pool, and Squall are processes of their own.

/** How long the database is blocked; an outage of a minute is `SQUALL_BLOCK_SECONDS=60`. */
const SECONDS = Number(process.env['SQUALL_BLOCK_SECONDS'] ?? 5)
/** The pool of the server: its connections, and its time limit for a connection and for a query. */
const POOL = { max: 4, ms: 1000 }
/** A busy machine stands still for less than this. */
const STALL_MS = 10_000
const NO_RULES = 'rules: []\n'
const TOKEN = 'a-token-of-the-admin-port-of-tests'

const open = closers()

/** Starts a server with a database that it reaches through Squall. */
async function startStage() {
  const directory = await mkdtemp(join(tmpdir(), 'squall-database-'))
  open({ close: () => rm(directory, { recursive: true }) })
  const rules = join(directory, 'rules.yaml')
  await writeFile(rules, NO_RULES)
  const postgres = open(await startUpstream('postgres'))
  const port = await freePort()
  const server = open(await startUpstream('docs', port))
  const outbound = ['--outbound', `127.0.0.1:${port}=127.0.0.1:${postgres.port}`]
  // Within the window of the guard all calls fail.
  const guard = ['--guard-window', '3s', '--guard-min-calls', '5']
  const flags = [...outbound, ...guard, '--rules', rules, '--environment', 'staging']
  const env = { SQUALL_ADMIN_TOKEN: TOKEN }
  const squall = await startSidecar({ upstream: server.url, process: { flags, env } })
  open({ close: () => squall.stop() })
  return {
    directory,
    postgres,
    server,
    squall,
    url: `http://127.0.0.1:${squall.port}`,
    write: (text: string) => writeFile(rules, text),
    /** Returns the connections to the database as each that has them counts them. */
    connections: async () => ({
      postgres: await postgres.connections(),
      pool: (await server.health()).pool.open,
      squall: metricOf(await squall.metrics(), 'squall_outbound_open_connections'),
      ...(await socketsOf(port, postgres.port)),
    }),
  }
}

/** Returns the open sockets that Squall accepted at one port, and that lead to another. */
async function socketsOf(accepted: number, connected: number) {
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n').slice(1)
  const sockets = lines
    .map((line) => line.trim().split(/[\s:]+/))
    .filter(([, , , , , state = '']) => !NOT_OPEN.has(state))
  const count = (at: number, port: number): number =>
    sockets.filter((fields) => Number.parseInt(fields[at] ?? '', 16) === port).length
  return { accepted: count(2, accepted), connected: count(4, connected) }
}
/** TIME_WAIT and LISTEN. */
const NOT_OPEN: ReadonlySet<string> = new Set(['06', '0A'])

type Stage = Awaited<ReturnType<typeof startStage>>

/**
 * Resolves when all count the same connections, and no more than the pool may have. The counts are
 * read one after another, and the pool replaces a connection whose query took too long.
 */
const countsAgree = (connections: Stage['connections'], least: number): Promise<void> =>
  eventually(async () => {
    const counts = await connections()
    const [first = 0, ...others] = Object.values(counts)
    const isRight = first >= least && first <= POOL.max && others.every((each) => each === first)
    return isRight ? undefined : `open connections: ${JSON.stringify(counts)}`
  })

const isAll = (calls: readonly SeenCall[], kind: SeenCall['kind']): boolean =>
  calls.every((call) => call.kind === kind)

/** Returns the ways in which a blocked database is restored; each resolves when it has begun. */
const RESTORED = {
  'its rule is removed': ({ write }: Stage) => write(NO_RULES),
  'the time of its rule is over': ({ squall }: Stage) =>
    eventually(
      async () => {
        const response = await fetch(`${squall.admin}/api/rules`)
        const { rules } = (await response.json()) as {
          readonly rules: readonly { phase: string }[]
        }
        return rules[0]?.phase === 'expired' ? undefined : 'the rule has not expired'
      },
      SECONDS * 1000 + 30_000,
    ),
  'Squall is disarmed': async ({ squall }: Stage) => {
    const env = { SQUALL_ADMIN_TOKEN: TOKEN }
    const args = ['stop', '-t', squall.admin.replace('http://', '')]
    expect(await startProgram(args, env, { here: true })).toMatchObject({ code: 0 })
  },
}

test.each([
  ['blackhole', 'its rule is removed'],
  ['blackhole', 'Squall is disarmed'],
  ['refuse', 'the time of its rule is over'],
  ['refuse', 'its rule is removed'],
] as const)('a database behind %s, until %s', async (kind, restored) => {
  const stage = await startStage()
  const { postgres, server, url } = stage
  const calls = open(await callAlways(url, 8))
  await calls.next('ok', 40)
  await countsAgree(stage.connections, POOL.max)

  // Longer than the checks of the outage take.
  const time = restored === 'the time of its rule is over' ? `for: ${SECONDS + 10}s, ` : ''
  const match = `match: { outbound: { host: 127.0.0.1, port: ${postgres.port} } }`
  await stage.write(
    `rules: [{ name: database-gone, ${match}, ${time}faults: [connection: { ${kind}: true }] }]`,
  )
  // Calls from before may still end well, and the limit of the pool may end others.
  await eventually(() => (isAll(calls.seen.slice(-16), 'tool_error') ? undefined : 'calls succeed'))
  const blocked = performance.now()
  while (performance.now() - blocked < SECONDS * 1000 - 1000) {
    const client = await openClient('v1')(`${url}/mcp`, 'streamableHttp')
    expect(await client.listTools()).toMatchObject({ tools: [{}, {}] })
    await client.close()
    await sleep(200)
  }
  expect(await server.health()).toMatchObject({ status: 503 })
  // Those that were open, and those that the pool tries now: none that it has given up.
  await eventually(async () => {
    const { squall: held } = await stage.connections()
    return held <= 2 * POOL.max ? undefined : `${held} connections`
  })
  const during = (): SeenCall[] => calls.seen.filter(({ began }) => began >= blocked)
  await eventually(() => (during().length > 8 ? undefined : 'few calls'))
  for (const { kind: ended, text, ms } of during()) {
    expect(ended, text).toBe('tool_error')
    expect(text).toMatch(/^database unavailable: /)
    expect(ms).toBeLessThan(2 * POOL.ms + STALL_MS)
  }

  await RESTORED[restored](stage)
  const restoredAt = performance.now()
  await calls.next('ok', 1)
  expect(performance.now() - restoredAt).toBeLessThan(1000 + 2 * POOL.ms + STALL_MS)
  await eventually(() => (isAll(calls.seen.slice(-20), 'ok') ? undefined : 'calls fail'))
  await calls.close()
  await countsAgree(stage.connections, 0)
  await eventually(async () => {
    const { status, database } = await server.health()
    return status === 200 ? undefined : database
  })
})

test('the ready plan dependency-blocked passes, and the guard does not disarm', async () => {
  const { directory, postgres, server, squall, url, connections } = await startStage()
  const addresses = {
    'http://localhost:15300': url,
    'http://localhost:3000/health': `${server.url}/healthz`,
    'http://127.0.0.1:15390': squall.admin,
    'port: 5432': `port: ${postgres.port}`,
  }
  const result = await runReady('dependency-blocked', addresses, directory, {
    hold: `${SECONDS}s`,
    steadyState: { errors: '20%', p95: '15s', for: '3s', within: '20s' },
  })
  expect(result.code, result.why).toBeNull()
  expect(result).toMatchObject({ verdict: 'passed', restored: true, steadyAfter: true })
  expect(result.stages).toMatchObject([{ label: 'blocked', share: 100 }])
  await countsAgree(connections, 0)
})
