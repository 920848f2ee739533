// part: fleet
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { startCluster } from '../support/cluster.ts'
import { apiServerMissing } from './api-server-process.ts'
import { figuresOf } from './fleet.ts'

// Prints what commands cost by the number of pods. SQUALL_FLEET_PODS chooses other numbers.
const opened = closers()
const SIZES = (process.env['SQUALL_FLEET_PODS'] ?? '100,500,2000,5000').split(',').map(Number)
const RULES = 'rules: [{ name: slow, match: { tool: search }, faults: [delay: { fixed: 1s }] }]\n'
/** The targets, as far as they do not depend on the machine. */
const MAX_MIB = 200
const MAX_LINES = 40

test.skipIf(apiServerMissing() !== undefined).each(SIZES)(
  'squall apply, status, stop and resume of %i pods, of which one in a hundred is dead',
  async (count) => {
    const fleet = opened(await startCluster('fleet', count))
    const file = join(fleet.directory, 'rules.yaml')
    await writeFile(file, RULES)
    const waiting = ['-n', 'shop', '--min', '95%', '--timeout', '10m']
    for (const args of [
      ['apply', '-f', file, ...waiting],
      ['status', '-n', 'shop'],
      ['stop', ...waiting],
      ['resume', ...waiting],
    ]) {
      const run = await fleet.run(...args)
      process.stderr.write(`${figuresOf(run, count)}\n`)
      expect.soft(run.code).toBe(run.command === 'status' ? 1 : 0)
      expect.soft(run.mib).toBeLessThan(MAX_MIB)
      expect.soft(run.out.trimEnd().split('\n').length).toBeLessThanOrEqual(MAX_LINES + count / 100)
    }
  },
  3_600_000,
)
