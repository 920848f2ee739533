import { once } from 'node:events'
import { describe, it } from 'vitest'
import { startProgram } from '../../support/program.ts'

/** A server that writes until its pipe is full for half a second, and then says so. */
const WRITES = `
  process.on('SIGTERM', () => process.exit(5))
  const write = () => {
    while (process.stdout.write('{}\\n'.repeat(1000)));
    const full = setTimeout(() => console.error('full'), 500)
    process.stdout.once('drain', () => (clearTimeout(full), write()))
  }
  write()`

describe.concurrent('a client that does not read', () => {
  it('its output keeps Squall no longer than the grace period after SIGTERM', async ({
    expect,
  }) => {
    const program = startProgram(
      ['stdio', '--', process.execPath, '-e', WRITES],
      {},
      { open: true },
    )
    program.child.stdout?.pause()
    await expect.poll(() => program.stderr(), { timeout: 20_000 }).toContain('full')
    const since = performance.now()
    program.signal('SIGTERM')
    expect(await once(program.child, 'exit')).toEqual([5, null])
    expect(performance.now() - since).toBeLessThan(5_000)
  }, 40_000)
})
