// part: slow
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadInputs } from '../../src/cli/load-inputs.ts'
import type { LoadRequest } from '../../src/commands/load.ts'
import { UsageError } from '../../../../src/base/flags/usage-error.ts'
import type { LoadResult } from '../../src/load/results/result.ts'
import { type ScriptedServer, startUpstream } from '../../../../test/support/wire.ts'
import { asked } from '../../../../test/support/commands/command-line.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { startProgram } from '../../../../test/support/commands.ts'

let server: ScriptedServer
let directory: string

beforeAll(async () => {
  server = await startUpstream('scripted', (call) =>
    call % 4 === 3 ? { ending: 'tool error', marker: 'r/abort' } : 'ok',
  )
  directory = await mkdtemp(join(tmpdir(), 'squall-load-'))
})

afterAll(async () => {
  await server.close()
  await rm(directory, { recursive: true })
})

const target = (): string[] => ['--target', server.url.href, '--tools', 'work', '--clients', '1']

async function squall(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const program = startProgram(args, env)
  const { code } = await program.ended
  return { code, stdout: program.stdout(), stderr: program.stderr() }
}

test.each(['sdk-v1', 'sdk-v2'])(
  '%s, which is a module, is loaded without a word',
  async (client) => {
    const more = ['--task-count', '3', '--client-kind', client, '--json']
    const { code, stdout, stderr } = await squall(['load', ...target(), ...more])
    expect(stderr).not.toMatch(/warning|import/i)
    expect(code).toBe(0)
    const { run, counts } = JSON.parse(stdout) as LoadResult
    expect([run.client, counts.calls]).toEqual([client, 3])
  },
)

test('a load whose --out and --report cannot be written prints its result, and exits with 1', async () => {
  const junit = join(directory, 'unwritten.xml')
  const gone = [
    '--out',
    join(directory, 'gone', 'a.json'),
    '--report',
    join(directory, 'gone', 'a'),
  ]
  const more = ['--task-count', '3', '--slo', 'success>1%', '--junit', junit, '--json', ...gone]
  const program = startProgram(['load', ...target(), ...more], {}, { here: true })
  const { code, stdout, stderr } = await program
  expect((JSON.parse(stdout) as LoadResult).counts.calls).toBe(3)
  expect(await readFile(junit, 'utf8')).toContain('name="success&gt;1%"')
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^squall: --out: ".*" cannot be written .*; also --report: ".*" cannot be written /,
    ),
  ])
})

test('--json prints the result and nothing else, a failed gate is exit code 1, and merging judges again', async () => {
  server.calls.length = 0
  const token = join(directory, 'token')
  await writeFile(token, 'sesame-open\n')
  const out = join(directory, 'a.json')
  const { code, stdout, stderr } = await squall([
    'load',
    ...target(),
    '--task-count',
    '8',
    '--json',
    '--out',
    out,
    '--junit',
    join(directory, 'gates.xml'),
    '--slo',
    'success>99%',
    '--slo',
    'p99<1m',
    '--auth-token-file',
    token,
    '--header',
    'x-key=hush',
  ])
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  const result = JSON.parse(stdout) as LoadResult
  expect(result.schema).toBe('squall.load/1')
  expect(result.slo.map(({ ok }) => ok)).toEqual([false, true])
  expect(result.indicators.tcsr).toBe(6 / 8)
  expect(await readFile(out, 'utf8')).toBe(stdout)
  expect(await readFile(join(directory, 'gates.xml'), 'utf8')).toContain('tests="3" failures="1"')
  expect(server.headers()).toMatchObject({ authorization: 'Bearer sesame-open', 'x-key': 'hush' })
  expect(stdout).not.toMatch(/sesame|hush/)

  const all = join(directory, 'all.json')
  const other = join(directory, 'b.json')
  await writeFile(other, stdout.replace('"seed":1', '"seed":2'))
  const merged = await startProgram(['load', 'merge', out, other, '-o', all], {}, { here: true })
  expect(merged).toMatchObject({ code: 1, stderr: '' })
  expect(merged.stdout).toMatch(/success>99% .* ✗ failed/)
  const both = JSON.parse(await readFile(all, 'utf8')) as LoadResult
  expect(both.counts.calls).toBe(16)
})

test.each([
  ['nothing responds', ['--target', 'http://127.0.0.1:4/mcp'], 'the target cannot be reached'],
  ['a gate cannot be read', ['--slo', 'sucess>99%'], '--slo: the gate'],
  ['the target is production', ['--environment', 'prod'], 'production'],
])(
  'a load that cannot run because %s is an error in the JUnit file',
  async (_why, args, reason) => {
    const junit = join(directory, 'rejected.xml')
    await rm(junit, { force: true })
    const load = ['load', ...target(), ...args, '--task-count', '1', '--junit', junit]
    const { code } = await startProgram(load, {}, { here: true })
    expect(code).not.toBe(0)
    const xml = await readFile(junit, 'utf8')
    expect(xml).toContain('<testsuites name="squall load" tests="1" failures="0" errors="1"')
    expect(xml).toMatch(new RegExp(`<error message="[^"]*${reason}`))
  },
)

test('an experiment whose plan is invalid is an error in the JUnit file', async () => {
  const [plan, junit] = [join(directory, 'plan.yaml'), join(directory, 'plan.xml')]
  await writeFile(plan, 'name: x\n')
  const run = ['experiment', 'run', plan, '--junit', junit]
  const { code } = await startProgram(run, {}, { here: true })
  expect(code).toBe(2)
  expect(await readFile(junit, 'utf8')).toMatch(
    /errors="1"[^]*<error message="[^"]*is not a valid plan/,
  )
})

test('elsewhere a table is printed without colours, and a passed gate is exit code 0', async () => {
  server.calls.length = 0
  const { code, stdout } = await startProgram(
    ['load', ...target(), '--task-count', '4', '--slo', 'blast<=25%'],
    {},
    { here: true },
  )
  expect(code).toBe(0)
  expect(stdout).toMatch(/^Blast radius +25\.0 % \(1 \/ 4\)$/m)
  expect(stdout).toMatch(/^work +4 +3 +1 +\S+/m)
  expect(stdout).toMatch(/^r +abort +1 +1 +0$/m)
  expect(stdout).toMatch(/^blast<=25% .* ✓ passed\n {2}1 of 4 tasks failed/m)
  // oxlint-disable-next-line no-control-regex
  expect(stdout).not.toMatch(/\u001b/)
  expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
})

test('tools that do not declare whether they are read-only need --yes, or a name', async () => {
  const inputSchema = { type: 'object' }
  const annotations = { destructiveHint: true }
  const tools = [
    { name: 'plain', inputSchema },
    { name: 'drop', inputSchema, annotations },
  ]
  const other = await startUpstream('scripted', ['ok'], tools)
  try {
    const args = ['load', '--target', other.url.href, '--task-count', '9']
    const refused = await startProgram(args, {}, { here: true })
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toMatch(
      /a tool does not declare whether it is read-only .*: plain; pass the tools/,
    )
    expect(refused.stderr).toMatch(/--tools 'plain', or add --yes$/m)
    expect(other.calls).toEqual([])
    const { code, stdout } = await startProgram([...args, '--yes'], {}, { here: true })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^not called without --tools: drop \(destructive\)$/m)
    expect(new Set(other.calls.map(({ tool }) => tool))).toEqual(new Set(['plain']))
  } finally {
    await other.close()
  }
})

test('Ctrl-C ends it early with the result so far, and it can be scraped while it runs', async () => {
  const program = startProgram([
    'load',
    ...target(),
    '--rate',
    '100/s',
    '--duration',
    '10m',
    '--metrics',
    '127.0.0.1:0',
    '--out',
    join(directory, 'part.json'),
  ])
  const address = (): string | undefined => /http:\S+/.exec(program.stderr())?.[0]
  await eventually(async () => {
    const url = address()
    if (url === undefined) return 'no address'
    const page = await (await fetch(url)).text()
    const calls = /squall_load_calls_total\{tool="work",result="success"\} (\d+)/.exec(page)?.[1]
    return Number(calls ?? 0) > 5 ? undefined : `only ${calls} calls`
  })
  program.signal('SIGINT')
  expect((await program.ended).code).toBe(130)
  const result = JSON.parse(await readFile(join(directory, 'part.json'), 'utf8')) as LoadResult
  expect(result.run.complete).toBe(false)
  expect(result.counts.calls).toBeGreaterThan(5)
  expect(program.stdout()).toMatch(/ended early/)
})

test('Ctrl-C before the load begins is reported as JSON', async () => {
  const silent = await startUpstream(() => undefined)
  try {
    const requested = once(silent.server, 'request')
    const address = `http://127.0.0.1:${silent.port}/mcp`
    const program = startProgram(['load', '--target', address, '--json'])
    await requested
    program.signal('SIGINT')
    const { code, stdout } = await program.finished()
    expect(code).toBe(130)
    const error = 'interrupted before the load began'
    expect(JSON.parse(stdout)).toEqual({ ok: false, error })
  } finally {
    await silent.close()
  }
})

test('Ctrl-C lets what is under way end, and a second one cuts it', async () => {
  const other = await startUpstream('scripted', (call) => (call < 3 ? 'ok' : 'hang'))
  const out = join(directory, 'cut.json')
  try {
    const args = ['load', '--target', other.url.href, '--tools', 'work', '--clients', '1']
    const program = startProgram([...args, '--drain-timeout', '10m', '--out', out])
    await eventually(() => (other.calls.length < 4 ? 'no call hangs' : undefined))
    program.signal('SIGINT')
    await eventually(() =>
      /for 1 calls; Ctrl-C/.test(program.stderr()) ? undefined : 'not ending',
    )
    // Sooner, it would be a second delivery of the first.
    await sleep(300)
    program.signal('SIGINT')
    expect((await program.ended).code).toBe(130)
    expect(program.stdout()).toMatch(
      /^Cut +1 +in flight at the end; counted nowhere else \(work 1\)$/m,
    )
    const result = JSON.parse(await readFile(out, 'utf8')) as LoadResult
    expect(result.counts.calls).toBe(3)
    expect(result.arrivals.abandoned).toBe(1)
  } finally {
    await other.close()
  }
})

test('many held streams are held without a warning', async () => {
  const { host } = await startUpstream('session')
  try {
    const tool = ['--tools', 'end the stream', '--clients', '20', '--task-count', '1']
    const args = ['--target', host.url, ...tool, '--timeout', '1s', '--open-streams', '20']
    const { stdout, stderr } = await squall(['load', ...args])
    expect(stdout).toMatch(/^Streams opened +20\nStreams refused +0\nStreams lost +0 /m)
    expect(stderr).not.toMatch(/warning/i)
  } finally {
    await host.close()
  }
})

test('what is wrong with a command line is said with how to fix it, and never with a secret', () => {
  const wrong = (...args: readonly string[]): string => {
    try {
      asked(['load', '--target', 'http://localhost/mcp', ...args])
      return 'nothing'
    } catch (error) {
      return (error as Error).message
    }
  }
  expect(wrong('--target', 'localhost:3000')).toMatch(/must be an http or https URL; write the URL/)
  expect(wrong('--target', 'http://me:secret@host/mcp')).toMatch(/contains a user name or password/)
  expect(wrong('--target', 'http://me:secret@host/mcp')).not.toMatch(/secret/)
  expect(wrong('--header', 'secret')).toMatch(
    /the header name is missing or invalid; use name=value/,
  )
  expect(wrong('--header', 'x-a=sec\nret')).toMatch(/invalid value for header x-a/)
  expect(wrong('--header', 'mcp-session-id=1')).toMatch(/squall load sets mcp-session-id/)
  expect(wrong('--rate', 'fast')).toMatch(/not a valid rate; use calls per second or per minute/)
  expect(wrong('--degrade', '1')).toMatch(/makes all 1 calls of a task optional/)
  expect(wrong('--skip-late')).toMatch(/needs --deadline/)
  expect(wrong('--breaker', '2')).toMatch(/not a valid fraction/)
  expect(wrong('--client-kind', 'mine')).toMatch(/use one of lean, sdk-v1, sdk-v2/)
  expect(wrong('--shard', '4/4')).toMatch(
    /the index 4 is out of range for 4 shards; use an index from 0/,
  )
  expect(wrong('--shard', '0/4', '--task-count', '3')).toMatch(
    /--task-count 3 cannot be split into 4 shards; use at most 3 shards/,
  )
  expect(wrong('--shard', '0/4', '--clients', '2')).toMatch(
    /--clients 2 cannot be split into 4 shards; use at most 2 shards/,
  )
  expect(wrong('--shard', '0/4', '--clients', '2', '--rate', '9/s')).toBe('nothing')
  expect(wrong('--shard', '0/4', '--max-in-flight', '3', '--rate', '9/s')).toMatch(
    /--max-in-flight 3 cannot be split into 4 shards; use at most 3 shards/,
  )
  expect(wrong('--shard', '0/4', '--task-count', '4')).toBe('nothing')
  expect(wrong('--shard', '/4')).toMatch(/JOB_COMPLETION_INDEX/)
  expect(wrong('--protocol-version', 'newest')).toMatch(/not a valid protocol version/)
  expect(() => asked(['load'])).toThrow(/--target is missing/)
  expect(() => asked(['load', 'merge'])).toThrow(/no results to merge/)
})

test('flags, their environment and the index of a Job are read into a request', () => {
  const args = ['load', '--rate', '120/m', '--ramp', '2s', '--retry-budget', '10%', '--shard', '/3']
  const env = {
    SQUALL_TARGET: 'https://mcp.example.com/mcp',
    SQUALL_TOOLS: 'a, b',
    SQUALL_FAN_OUT: '8',
    JOB_COMPLETION_INDEX: '2',
  }
  expect(asked(args, env) as LoadRequest).toMatchObject({
    tools: ['a', 'b'],
    fanOut: 8,
    pace: { rate: 2, rampMs: 2000, durationMs: 10_000, clients: 10 },
    resilience: { retries: 0, retryBudget: 0.1, timeoutMs: 60_000 },
    shard: { index: 2, count: 3 },
  })
})

test.each([
  [['--slo', 'p99<2'], /unit of time; write it as 250ms or 2s/],
  [['--expect', 'total>1'], /missing a JSON Pointer/],
  [['--calls', '/no/such/file'], /--calls: .* cannot be read \(no such file or directory\)/],
])('%s is a usage error', async (args, why) => {
  const inputs = loadInputs(asked(['load', ...target(), ...args]) as LoadRequest, '0.0.0')
  await expect(inputs).rejects.toThrow(why)
  await expect(inputs).rejects.toBeInstanceOf(UsageError)
})
