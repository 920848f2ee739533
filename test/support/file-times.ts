import { appendFileSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { afterAll, expect } from 'vitest'

/**
 * Appends the time of each test file to the file that SQUALL_TEST_TIMES names: seconds of CPU of the
 * worker, of programs that it started and that have ended, and of the clock.
 */
const began = performance.now()
const before = process.cpuUsage()
const programsBefore = ofPrograms()

afterAll(() => {
  const { user, system } = process.cpuUsage(before)
  const seconds = [
    (user + system) / 1e6,
    ofPrograms() - programsBefore,
    (performance.now() - began) / 1000,
  ]
  const path = relative(process.cwd(), expect.getState().testPath ?? '')
  const line = [...seconds.map((each) => each.toFixed(2)), path].join('\t')
  appendFileSync(process.env['SQUALL_TEST_TIMES']!, `${line}\n`)
})

/** Returns the seconds of CPU of ended children: 0 where there is no /proc, as on macOS. */
function ofPrograms(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[13]) + Number(fields[14])) / 100
  } catch {
    return 0
  }
}
