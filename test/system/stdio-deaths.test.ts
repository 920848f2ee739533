// part: campaigns
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { FIXTURE_COMMAND, rulesFile, startProgram, throughSquall } from '../support/commands.ts'
import { Random, seedOfRun } from '../support/random.ts'
import { systemTool } from './tools.ts'

const ROUNDS = 24
const AT_ONCE = 4
const CALLER = fileURLToPath(new URL('./stdio-caller.mjs', import.meta.url))
const SERVERS = [
  FIXTURE_COMMAND,
  [
    systemTool('venv/bin/python', 'The Python SDK'),
    fileURLToPath(new URL('./python_stdio_server.py', import.meta.url)),
  ],
]
/** Faults that hold calls, cut responses and suspend the server while processes die. */
const RULES = rulesFile(`rules:
- { name: slow, match: { tool: echo }, percent: 20, faults: [{ delay: { fixed: 50ms } }] }
- { name: silent, match: { tool: echo }, percent: 1, faults: [{ hang: {} }] }
- { name: stopped, match: { tool: echo }, percent: 2, faults: [{ process: { stop: 1h } }] }
`)

interface Living {
  readonly pid: number
  readonly command: string
}

/**
 * Returns the processes with a variable in their environment, also those without a parent, the
 * oldest first: a new process has the command line of the one that starts it for a moment.
 */
function processesWith(variable: string): Living[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  pids.sort((a, b) => Number(a) - Number(b))
  return pids.flatMap((pid) => {
    try {
      const has = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(variable)
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      return has ? [{ pid: Number(pid), command }] : []
    } catch {
      // It has ended, or belongs to another user.
      return []
    }
  })
}

const ROLES = ['client', 'squall', 'server'] as const

/** Returns the role of a process by its command line, which names those that it starts as well. */
function roleOf({ command }: Living): 'client' | 'squall' | 'server' | 'waker' {
  if (command.includes('stdio-caller.mjs')) return 'client'
  if (command.includes('kill -CONT')) return 'waker'
  return command.includes('dist/cli/main.js') ? 'squall' : 'server'
}

/** Kills one of the three processes at a random moment; returns its role. */
async function playRound(random: Random, round: number): Promise<string> {
  const id = `${process.pid}-${round}`
  const server = random.pick(SERVERS)
  const options = ['--rules', RULES, '--drain-timeout', '100ms']
  const program = startProgram(
    [CALLER, ...throughSquall(options, server)],
    { STDIO_ROUND: id },
    { program: process.execPath, open: true },
  )
  const living = (): Living[] => processesWith(`STDIO_ROUND=${id}`)
  const role = ROLES[round % ROLES.length]!
  try {
    // Some die while they start, but not the first of each role.
    if (round < ROLES.length || random.chance(0.8)) await program.firstLine()
    await sleep(random.int(0, 400))
    const victim = living().find((one) => roleOf(one) === role)
    // A server that a fault has suspended gets SIGTERM by Squall alone, which continues it.
    const signal = role === 'server' || random.chance(0.5) ? 'SIGKILL' : 'SIGTERM'
    if (victim === undefined) program.signal('SIGKILL')
    else process.kill(victim.pid, signal)
    await expect
      .poll(living, { timeout: 30_000, interval: 100, message: `${round}: ${role} ${signal}` })
      .toEqual([])
    return victim === undefined ? 'none' : role
  } finally {
    for (const { pid } of living()) process.kill(pid, 'SIGKILL')
  }
}

test(`no process outlives the client, Squall or the server of ${ROUNDS} sessions that are killed`, async () => {
  const seed = seedOfRun()
  console.log(`SQUALL_TEST_SEED=${seed}`)
  const killed: string[] = []
  const rounds = Array.from({ length: ROUNDS }, (_, round) => round)
  const worker = async (): Promise<void> => {
    for (let round = rounds.shift(); round !== undefined; round = rounds.shift()) {
      killed.push(await playRound(new Random(seed + round), round))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  expect(killed).toEqual(expect.arrayContaining([...ROLES]))
})
