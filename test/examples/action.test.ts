// part: slow
// The action of GitHub: its steps, run as they are written.
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import { ROOT } from '../docs/blocks.ts'
import { AGENT, flightTape } from '../../packages/experiments/test/sweep/flights.ts'
import { freePort, startUpstream } from '../support/wire.ts'
import { type ActionRun, runAction } from './action-runner.ts'
import { exampleServer, type ExampleServer } from './example-server.ts'

const ACTION = `${ROOT}action/action.yml`
const RULES = `rules:
  - name: some-calls-fail
    match: { tool: search_docs }
    percent: 20
    faults: [abort: { status: 503 }]
`
const LOAD = '--tools search_docs --task-count 60 --clients 4'

let server: ExampleServer
let directory: string
let listen: string
let admin: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall action-'))
  await writeFile(join(directory, 'rules.yaml'), RULES)
  server = await exampleServer([])
  listen = `127.0.0.1:${await freePort()}`
  admin = `127.0.0.1:${await freePort()}`
})

afterEach(async () => {
  await server.close()
  await rm(directory, { recursive: true, force: true })
})

const run = (inputs: Readonly<Record<string, string>>): Promise<ActionRun> =>
  runAction(ACTION, directory, {
    upstream: `${server.origin}/mcp`,
    rules: 'rules.yaml',
    listen,
    admin,
    ...inputs,
  })

it('a load passes its gates, with summary, report and artifact', async () => {
  const { failed, log, outputs, summary, used } = await run({
    load: `${LOAD} --retries 9`,
    gates: 'success>99%\nblast<5%\n',
  })
  expect(failed, log).toBe(false)
  expect(log).toMatch(/success>99% .* ✓ passed/)
  expect(log).toMatch(/blast<5% .* ✓ passed/)
  expect(outputs).toMatchObject({ passed: 'true', url: `http://${listen}/mcp` })
  expect(summary).toMatch(/\| some-calls-fail \| abort \| \d+ \| [1-9]\d* \|/)
  expect(summary).toMatch(/\| search\\_docs \| http\\_error 503 \| injected \| [1-9]\d* \|/)
  expect(summary).toContain('success&gt;99%')
  expect(used['actions/upload-artifact@v4']).toEqual({ name: 'squall', path: outputs['report'] })
  const files = await readdir(outputs['report']!)
  expect(files).toEqual(
    expect.arrayContaining(['load.xml', 'report.html', 'result.json', 'squall.log', 'summary.md']),
  )
  // Squall has ended with the action.
  expect(await readFile(join(outputs['report']!, 'squall.log'), 'utf8')).toContain('draining')
  await expect(fetch(`http://${admin}/livez`)).rejects.toThrow()
})

it('a gate that fails fails the job, after the summary', async () => {
  const { failed, log, outputs, summary, used } = await run({ load: LOAD, gates: 'success>99%' })
  expect(failed).toBe(true)
  expect(log).toMatch(/success>99% .* ✗ failed/)
  expect(log).toContain('::error title=Squall::')
  expect(outputs['passed']).toBe('false')
  expect(summary).toContain('success&gt;99%')
  expect(Object.keys(used)).toEqual(['actions/upload-artifact@v4'])
})

it('tests run behind Squall, which has the URL for them', async () => {
  const test = `node -e 'fetch(process.env.MCP_URL).then(({ status }) => process.exit(status === 200 ? 1 : 0))'`
  const passing = await run({ test })
  expect(passing.failed, passing.log).toBe(false)
  expect(passing.summary).toContain('## Injected faults')
  const failing = await run({ test: 'exit 3' })
  expect(failing.failed).toBe(true)
})

it('uses nothing that the bash of macOS lacks', async () => {
  expect(await readFile(ACTION, 'utf8')).not.toMatch(
    /mapfile|readarray|declare -A|\$\{\w+(?:\^|,|@)/,
  )
})

it('a sweep needs no server, and a failure that breaks the task fails the job', async () => {
  const tape = await flightTape()
  onTestFinished(() => rm(dirname(tape), { recursive: true, force: true }))
  const sweep = { upstream: '', tape, sweep: `node ${AGENT}` }
  const check = `--check "grep -q 'booked FL-48213'"`
  const { failed, log, outputs, summary } = await run({
    ...sweep,
    'sweep-options': `--faults lost,rateLimit ${check}`,
  })
  expect(failed).toBe(true)
  expect(outputs['passed'], log).toBe('false')
  expect(summary).toContain('## Sweep\n~~~~text\n5 calls, 10 single failures: 8 survived')
  expect(summary).toMatch(/^4 book_flight +ok +failed$/m)
  expect(summary).not.toContain('Injected faults')
  const files = await readdir(outputs['report']!)
  expect(files).toEqual(expect.arrayContaining(['sweep', 'sweep.txt', 'sweep.xml']))
  const accepted = { 'sweep-options': `--faults lost --accept failed_openly ${check}` }
  expect(await run({ ...sweep, ...accepted })).toMatchObject({ failed: false })
  expect((await run({ ...sweep, tape: '' })).log).toContain('sweep needs the input tape')
  expect((await run({ ...sweep, load: LOAD })).log).toContain('need the input upstream')
})

it('Squall stays for later steps where the action runs nothing', async () => {
  const { failed, log, outputs, used } = await run({})
  expect(failed, log).toBe(false)
  expect((await fetch(`http://${admin}/livez`)).status).toBe(200)
  expect([outputs['passed'], used]).toEqual(['', {}])
  const { pid } = outputs as { readonly pid: string }
  process.kill(Number(pid))
})

it.each([
  [
    'a running Squall',
    async () => {
      const { outputs } = await run({})
      onTestFinished(() => void process.kill(Number(outputs['pid'])))
    },
    'is in use; end the program there',
  ],
  [
    'a program at the address for clients',
    async () => {
      const { port, close } = await startUpstream(() => undefined)
      onTestFinished(close)
      listen = `127.0.0.1:${port}`
    },
    'is in use',
  ],
  [
    'invalid rules',
    () => writeFile(join(directory, 'rules.yaml'), 'rules: 1'),
    'rules.yaml:1:8: rules: must be',
  ],
  ['no rules file', () => rm(join(directory, 'rules.yaml')), 'no such file'],
])('%s fails the job at once', async (_, prepare, message) => {
  await prepare()
  const begun = performance.now()
  const { failed, log } = await run({ load: LOAD, gates: 'success>1%' })
  expect(failed).toBe(true)
  expect(log).toContain(message)
  expect(performance.now() - begun).toBeLessThan(30_000)
})

it.each([
  ['gates without a load', { gates: 'success>99%', test: 'true' }, 'gates need the input load'],
  ['a quote that does not close', { load: '--task-count 5 --slo "success>99%' }, 'unmatched'],
  ['an output in the URL', { upstream: 'http://127.0.0.1:1/mcp\npid=1' }, 'upstream is not a URL'],
])('%s fails the job, and Squall ends', async (_, inputs, message) => {
  const { failed, log } = await run(inputs)
  expect(failed).toBe(true)
  expect(log).toContain(message)
  await expect(fetch(`http://${admin}/livez`)).rejects.toThrow()
})

it('uses the program that the project has installed, below a path with a space', async () => {
  const programs = join(directory, 'node_modules', '.bin')
  await mkdir(programs, { recursive: true })
  await symlink(`${ROOT}bin/squall.cjs`, join(programs, 'squall'))
  const { failed, log, outputs } = await run({ test: 'true' })
  expect(failed, log).toBe(false)
  const script = await readFile(`${outputs['report']}.sh`, 'utf8')
  expect(script).toContain('node_modules/.bin/squall')
})

it('a project without Squall is told what to do', async () => {
  const { failed, log } = await run({ squall: 'no-such-program' })
  expect(failed).toBe(true)
  expect(log).toMatch(/no-such-program: (?:command )?not found/)
})
