// part: slow-nightly
import { once } from 'node:events'
import { describe, it } from 'vitest'
import { rulesFile, startProgram } from '../../support/commands.ts'

/** A server that writes until its pipe is full for half a second, and then says so. */
const WRITES = `
  process.on('SIGTERM', () => process.exit(5))
  const write = () => {
    while (process.stdout.write('{}\\n'.repeat(1000)));
    const full = setTimeout(() => console.error('full'), 500)
    process.stdout.once('drain', () => (clearTimeout(full), write()))
  }
  write()`

/** Their lines in the log are more than a pipe holds. */
const CALLS = 5_000

const call = (id: number): string =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'a' } })}\n`

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

  it('its standard error stops no calls, and SIGTERM ends Squall', async ({ expect }) => {
    const rules = rulesFile('rules: [{ name: r, faults: [{ abort: { rpcError: {} } }] }]')
    const options = ['--rules', rules, '--log-injections', 'all']
    const program = startProgram(['stdio', ...options, '--', 'cat'], {}, { open: true })
    program.child.stderr?.pause()
    program.child.stdin?.write(Array.from({ length: CALLS }, (_, id) => call(id)).join(''))
    await expect.poll(() => program.lines.length, { timeout: 20_000 }).toBe(CALLS)
    program.signal('SIGTERM')
    expect(await once(program.child, 'exit')).toEqual([null, 'SIGTERM'])
  }, 40_000)
})

it('standard error of the server passes byte for byte', async ({ expect }) => {
  const script = 'head -c 1000000 /dev/zero | tr "\\0" x >&2; printf end >&2; exit 3'
  const { code, stderr } = await startProgram(['stdio', '--', 'sh', '-c', script]).finished()
  expect([code, /x+end/.exec(stderr)?.[0].length]).toEqual([3, 1_000_003])
})
