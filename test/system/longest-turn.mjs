/**
 * Preloaded into a sidecar, from SIGUSR2 on, or after the milliseconds in SQUALL_TEST_TURNS_AFTER,
 * for a program that passes the signal on: measures the CPU time that its main thread takes for
 * each turn of the event loop, garbage collections on that thread included. At its end it writes
 * the longest turns as JSON, in milliseconds and the longest first, to the file that
 * SQUALL_TEST_LONGEST_TURN names.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const file = process.env['SQUALL_TEST_LONGEST_TURN']
const KEPT = 5
const longest = []
let before = 0

/** Linux counts it for each thread, in nanoseconds, whatever else the machine has to do. */
function cpuTime() {
  return Number.parseInt(readFileSync('/proc/thread-self/schedstat', 'latin1')) / 1e6
}

function turn() {
  const now = cpuTime()
  keep(now - before)
  before = now
  // Without a reference the loop does not go round for it.
  setImmediate(turn).unref()
}

function keep(ms) {
  if (longest.length === KEPT && ms <= longest[KEPT - 1]) return
  longest.push(ms)
  longest.sort((a, b) => b - a)
  longest.length = Math.min(longest.length, KEPT)
}

function begin() {
  before = cpuTime()
  setImmediate(turn).unref()
}

if (isMainThread && file !== undefined) {
  const after = process.env['SQUALL_TEST_TURNS_AFTER']
  if (after === undefined) process.once('SIGUSR2', begin)
  else setTimeout(begin, Number(after)).unref()
  process.on('exit', () => writeFileSync(file, JSON.stringify(longest)))
}
