// part: slow
import { readFileSync } from 'node:fs'
import { describe, type ExpectStatic, it } from 'vitest'
import {
  isAlive,
  type Program,
  rulesFile,
  startProgram,
  stdioClient,
  throughSquall,
} from '../../support/commands.ts'

/** Starts `squall stdio` in front of a shell script. */
function script(text: string, how = {}, options: readonly string[] = []): Program {
  return startProgram(['stdio', ...options, '--', 'sh', '-c', text], {}, how)
}

const gone = (expect: ExpectStatic, ...pids: readonly number[]) =>
  expect.poll(() => pids.filter(isAlive), { timeout: 15_000 }).toEqual([])

describe.concurrent('a server behind squall stdio', () => {
  it('ends with its own exit code, and its standard error is passed on', async ({ expect }) => {
    const { code, stdout, stderr } = await script('echo oops >&2; printf half; exit 7').finished()
    expect([code, stdout]).toEqual([7, 'half'])
    expect(stderr).toContain('oops\n')
  })

  it('ends Squall by the signal that ended it', async ({ expect }) => {
    expect(await script('kill -SEGV $$').ended).toEqual({ code: null, signal: 'SIGSEGV' })
  })

  it('gets the signals that Squall gets', async ({ expect }) => {
    const program = script(
      'trap "echo got-hup; exit 3" HUP; echo ready; while :; do sleep 0.05; done',
      { open: true },
    )
    expect(await program.firstLine()).toBe('ready')
    program.signal('SIGHUP')
    const { code, stdout } = await program.finished()
    expect([code, stdout]).toEqual([3, 'ready\ngot-hup\n'])
  })

  it('may send 16 MiB of CR in one line, in a small heap', async ({ expect }) => {
    const text = `head -c 16777216 /dev/zero | tr '\\0' '\\r'; echo; echo '{}'`
    const env = { NODE_OPTIONS: '--max-old-space-size=256' }
    const program = startProgram(['stdio', '--', 'sh', '-c', text], env)
    const { code, stdout } = await program.finished()
    expect([code, stdout === `${'\r'.repeat(16 * 1024 * 1024)}\n{}\n`]).toEqual([0, true])
  })

  it('may end while its long line is passed for more than the grace period', async ({ expect }) => {
    const size = 80 * 1024 * 1024
    const text = `head -c ${size} /dev/zero | tr '\\0' '\\r'; echo; echo '{}'`
    const { code, stdout } = await script(text, {}, ['--max-body', '80MiB']).finished()
    expect([code, stdout.length, stdout.slice(-5)]).toEqual([0, size + 4, '\r\n{}\n'])
  }, 60_000)

  it('sees the end of standard input, and may still respond', async ({ expect }) => {
    const program = script('cat >/dev/null; echo "{}"', { input: '{}\n' })
    expect(await program.finished()).toMatchObject({ code: 0, stdout: '{}\n' })
  })

  it('gets lines that faults held when the client had ended', async ({ expect }) => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a' } }
    const input = `${JSON.stringify(call)}\n`
    const held = (fault: string): string =>
      rulesFile(`rules: [{ name: a, match: { tool: a }, faults: [${fault}] }]`)
    const [delayed, hung] = await Promise.all(
      ['{ delay: { fixed: 200ms } }', '{ hang: {} }'].map((fault) =>
        script('cat', { input }, ['--rules', held(fault), '--drain-timeout', '300ms']).finished(),
      ),
    )
    expect([delayed?.stdout, hung?.stdout]).toEqual([input, input])
  })

  it('that cannot be started is an error with its fix', async ({ expect }) => {
    const { code, stdout, stderr } = await startProgram(['stdio', '--', './none']).finished()
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(
      /cannot be started: no such file or directory; check the command after --/,
    )
  })

  it('is waited for although its child keeps the pipe', async ({ expect }) => {
    const { code, stdout } = await script('sleep 5 2>&- & echo done; exit 4').finished()
    expect([code, stdout]).toEqual([4, 'done\n'])
  })

  it('killed in the middle of calls, ends the client’s pipe and Squall', async ({ expect }) => {
    const client = await stdioClient('v1', throughSquall([]))
    const pid = Number(/\d+/.exec(JSON.stringify(await client.call('pid')))?.[0])
    const call = client.call('ask').catch((error: Error) => error.message)
    process.kill(pid, 'SIGKILL')
    await client.closed
    expect(await call).toEqual(expect.anything())
    await gone(expect, pid, client.pid)
  })

  it.for([
    ['even if it reads nothing', 'echo "{\\"pid\\":$$}"; exec sleep 600'],
    [
      'nor does its child that ignores all but SIGKILL',
      '(trap "" TERM PIPE; exec sleep 600) & echo "{\\"pid\\":$!}"; exec cat >/dev/null',
    ],
  ])('does not outlive a client that is killed, %s', async ([, server = ''], { expect }) => {
    const [node = '', ...args] = throughSquall([], ['sh', '-c', server])
    const text = `
      const child = require('node:child_process').spawn(process.argv[1], process.argv.slice(2))
      child.stdout.on('data', (data) => console.log(JSON.stringify({ ...JSON.parse(data), squall: child.pid })))`
    const client = startProgram(['-e', text, node, ...args], {}, { program: node, open: true })
    const { pid, squall } = JSON.parse(await client.firstLine()) as { pid: number; squall: number }
    expect([pid, squall].every(isAlive)).toBe(true)
    await client.kill()
    await gone(expect, pid, squall)
  })

  it('is asked for no more while its client does not read, and nothing is lost', async ({
    expect,
  }) => {
    const writes = '(yes "{}" | head -c 3000000; echo all >&2) &'
    const reads = 'while read -r line; do echo "read $line" >&2; done'
    const program = script(`${writes} ${reads}; wait; echo end`, { open: true })
    program.child.stdout?.pause()
    program.child.stdin?.write('[1]\ntwo\n')
    await expect.poll(() => program.stderr(), { timeout: 10_000 }).toContain('read two')
    expect(program.stderr()).not.toContain('all')
    program.child.stdout?.resume()
    program.child.stdin?.end()
    const { stdout } = await program.finished()
    expect([stdout.length, stdout.slice(-4)]).toEqual([3_000_004, 'end\n'])
  })
  it('responds in a file when the shell that started Squall has ended', async ({ expect }) => {
    const path = rulesFile('')
    const args = throughSquall([], ['sh', '-c', 'echo; cat; sleep 3; echo "{}"'])
    const shell = [
      '-c',
      '"$@" </dev/null >"$0" 2>/dev/null & until test -s "$0"; do sleep 0.05; done',
      path,
      ...args,
    ]
    await startProgram(shell, {}, { program: 'sh' }).ended
    await expect.poll(() => readFileSync(path, 'utf8'), { timeout: 15_000 }).toBe('\n{}\n')
  })
})
