// Runs one command of a part in a process group of its own, within a time limit, and keeps its output.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

/** The time that a command has to end after SIGTERM. */
const GRACE = 10_000

const running = new Set()

/** Ends all commands that still run. */
export function endAll() {
  for (const child of running) signal(child, 'SIGTERM')
}

function signal(child, name) {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, name)
  } catch {
    // The group is gone.
  }
}

/** Runs a command; resolves with its exit code, `undefined` when it ran out of time. */
export async function runCommand([program, ...args], { env, milliseconds, log }) {
  // A file and not a pipe: a process that is left behind would keep a pipe open.
  const output = openSync(log, 'w')
  const child = spawn(program, args, {
    detached: true,
    env: { ...process.env, ...env },
    stdio: ['ignore', output, output],
  })
  running.add(child)
  let late = false
  const limit = setTimeout(() => {
    late = true
    signal(child, 'SIGTERM')
    setTimeout(() => signal(child, 'SIGKILL'), GRACE).unref()
  }, milliseconds)
  try {
    const [code, by] = await once(child, 'exit')
    return late ? undefined : (code ?? by)
  } catch (error) {
    // The program cannot be started.
    writeSync(output, `${error.message}\n`)
    return 127
  } finally {
    clearTimeout(limit)
    running.delete(child)
    // The command may have left processes in its group.
    signal(child, 'SIGKILL')
    closeSync(output)
  }
}

/** Adds up the tests in the lines with which vitest sums up. */
export function countTests(log) {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  // eslint-disable-next-line no-control-regex
  const text = readFileSync(log, 'utf8').replace(/\u001b\[[0-9;]*m/g, '')
  for (const [, line] of text.matchAll(/^ +Tests +(.*)$/gm)) {
    for (const [, count, word] of line.matchAll(/(\d+) (passed|failed|skipped)/g)) {
      counts[word] += Number(count)
    }
  }
  return counts
}
