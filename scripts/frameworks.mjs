// Measures what agent frameworks survive, into examples/frameworks/results.json:
//   node scripts/frameworks.mjs [--check] [NAME...]
// Without names, all of examples/frameworks/frameworks.json; those with isPinned alone by --pinned.
// Packages are installed below build/frameworks when they are missing. With --check, nothing is
// written, and a cell that differs from the stored one is an error.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const EXAMPLES = join(ROOT, 'examples/frameworks')
const RESULTS = join(EXAMPLES, 'results.json')
const SQUALL = [process.execPath, join(ROOT, 'bin/squall.cjs')]
const SERVERS = ['sessions', 'stateless']
const FAULTS = 'error timeout rateLimit session cut lost empty falsified drift late'.split(' ')
/** Nothing but the tape is reached. */
const ENV = { OPENAI_API_KEY: 'none', LANGSMITH_TRACING: 'false', PYTHONDONTWRITEBYTECODE: '1' }
/** A sweep keeps the last lines alone: stack traces must not displace what the model reads. */
const QUIET = ['/bin/sh', '-c', 'exec "$0" "$@" 2>/dev/null']
/** The call into which faults are injected, the second of three. */
const CALL = 2
/** Defaults of 60 s are seen; longer ones are reported as none. */
const CELL_TIMEOUT_S = 90
const PARALLEL = 4
const START_MS = 60_000

const isCheck = process.argv.includes('--check')
const names = process.argv.slice(2).filter((arg) => !arg.startsWith('--'))
const all = JSON.parse(readFileSync(join(EXAMPLES, 'frameworks.json'), 'utf8'))
const unknown = names.find((name) => !all.some(({ id }) => id === name))
if (unknown !== undefined) throw new Error(`no framework ${unknown} in frameworks.json`)
const chosen = all.filter(({ id, isPinned }) =>
  process.argv.includes('--pinned') ? isPinned : names.length === 0 || names.includes(id),
)
const running = new Set()
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
const stored = () => (existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : {})

for (const framework of chosen) {
  const command = install(framework)
  const found = {}
  for (const server of SERVERS) found[server] = await measure(command, server)
  if (isCheck) compare(framework, found)
  else {
    const date = new Date().toISOString().slice(0, 10)
    // Others may be measured at the same time.
    const known = { ...stored(), [framework.id]: { date, ...found } }
    writeFileSync(RESULTS, `${JSON.stringify(known, null, 2)}\n`)
    console.log(`${framework.id}: stored`)
  }
}

/** Installs a framework with its agent; returns the command of the agent. */
function install({ id, language, packages, program }) {
  const home = join(ROOT, 'build/frameworks', id)
  const stamp = join(home, 'installed.json')
  const isInstalled = existsSync(stamp) && readFileSync(stamp, 'utf8') === JSON.stringify(packages)
  const run = (...[file, ...args]) => execFileSync(file, args, { cwd: home, stdio: 'inherit' })
  if (!isInstalled) {
    console.log(`${id}: installing ${packages.join(' ')}`)
    rmSync(home, { recursive: true, force: true })
    mkdirSync(home, { recursive: true })
    if (language === 'Python') {
      run(process.env.PYTHON ?? 'python3', '-m', 'venv', '.')
      run('bin/python', '-m', 'pip', 'install', '--quiet', ...packages)
    } else if (language === 'JavaScript') {
      writeFileSync(join(home, 'package.json'), '{ "private": true }\n')
      run('npm', 'install', '--no-audit', '--no-fund', '--engine-strict=false', ...packages)
    }
    if (language === 'Go') {
      run('go', 'mod', 'init', 'agent')
      run('go', 'get', ...packages)
    }
    writeFileSync(stamp, JSON.stringify(packages))
  }
  const file = join(EXAMPLES, program)
  if (language === 'Python') return [join(home, 'bin/python'), '-W', 'ignore', file]
  // Packages are looked for from where the file is.
  for (const each of [`script${extname(program)}`, program])
    cpSync(join(EXAMPLES, each), join(home, each))
  if (language === 'JavaScript') return [process.execPath, join(home, program)]
  run('go', 'mod', 'tidy')
  run('go', 'build', '-o', 'agent', 'script.go', program)
  return [join(home, 'agent')]
}

/** Records the task of an agent, and sweeps it. */
async function measure(command, server) {
  const directory = mkdtempSync(join(tmpdir(), 'squall-frameworks-'))
  try {
    const tape = join(directory, 'task.tape')
    await record(command, server, tape)
    const results = join(directory, 'results')
    const flags = ['--tape', tape, '--results', results, '--json', '--parallel', String(PARALLEL)]
    const limit = ['--cell-timeout', `${CELL_TIMEOUT_S}s`]
    const cells = FAULTS.flatMap((fault) => ['--cell', `${CALL}-${fault}`])
    const swept = start([
      ...SQUALL,
      'sweep',
      ...flags,
      ...limit,
      ...cells,
      '--',
      ...QUIET,
      ...command,
    ])
    const { stdout, stderr } = await finished(swept)
    if (!existsSync(join(results, 'result.json'))) throw new Error(`no result: ${stderr}`)
    const { calls, cells: judged } = JSON.parse(stdout)
    if (calls.length !== 3) throw new Error(`${calls.length} calls: ${stdout}`)
    const entries = judged.map(({ fault, runs: [run] }) => [fault, cellOf(run)])
    return { protocol: protocolOf(tape), ...Object.fromEntries(entries) }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Runs the agent once behind a Squall that records a tape. */
async function record(command, server, tape) {
  const upstream = start([process.execPath, join(EXAMPLES, 'server.mjs'), server])
  const address = new URL(await line(upstream, /^(http:\S+)$/m))
  const flags = ['--upstream', address.origin, '--tape', tape, '--listen', '127.0.0.1:0']
  const squall = start([
    ...SQUALL,
    'run',
    ...flags,
    '--admin',
    '127.0.0.1:0',
    '--log-format',
    'json',
  ])
  const port = await line(squall, /"address":"[^"]*:(\d+)".*"msg":"listening"/)
  const agent = start(command, { MCP_URL: `http://127.0.0.1:${port}/mcp` })
  const { code, stdout, stderr } = await finished(agent)
  squall.child.kill('SIGTERM')
  await finished(squall)
  upstream.child.kill('SIGTERM')
  await finished(upstream)
  const isRight = code === 0 && stdout.match(/ ok$/gm)?.length === 3
  if (!isRight) throw new Error(`without a fault, ${command.at(-1)}: ${stdout}${stderr}`)
}

/** Starts a program whose output is kept. */
function start([program, ...args], env = {}) {
  const child = spawn(program, args, {
    env: { ...process.env, ...ENV, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const started = { child, stdout: '', stderr: '', closed: once(child, 'close') }
  running.add(child)
  void started.closed.then(() => running.delete(child))
  child.stdout.on('data', (data) => (started.stdout += data))
  child.stderr.on('data', (data) => (started.stderr += data))
  return started
}

async function finished(started) {
  const [code] = await started.closed
  return { code, stdout: started.stdout, stderr: started.stderr }
}

/** Resolves with what a pattern finds in the output of a program. */
async function line(started, pattern) {
  const signal = AbortSignal.timeout(START_MS)
  for (;;) {
    const found = pattern.exec(started.stdout)
    if (found !== null) return found[1]
    const next = once(started.child.stdout, 'data', { signal })
    const ended = await Promise.race([next, started.closed])
    if (typeof ended[0] === 'number') throw new Error(`ended early: ${started.stderr}`)
  }
}

/** Returns the protocol version in which a tool was called. */
function protocolOf(tape) {
  const lines = readFileSync(tape, 'utf8')
    .trim()
    .split('\n')
    .map((each) => JSON.parse(each))
  const call = lines.find(({ method }) => method === 'tools/call')
  const own = call.params._meta?.['io.modelcontextprotocol/protocolVersion']
  return (
    own ?? lines.find(({ result }) => result?.protocolVersion !== undefined).result.protocolVersion
  )
}

/** Describes what became of the call with the fault, and of the next one. */
function cellOf({ verdict, lines, calls }) {
  if (verdict === 'not_reached') return 'not applicable'
  const pattern = /^([a-z]+_[a-z]+) (ok|changed|error)(?: after ([\d.]+) s)?$/
  const reads = lines.flatMap((each) => {
    const found = pattern.exec(each)
    return found === null ? [] : [[found[1], { what: found[2], seconds: Number(found[3] ?? 0) }]]
  })
  const { book_trip: own, get_booking: next } = Object.fromEntries(reads)
  const missing = verdict === 'hung' ? 'waits' : 'run ends'
  if (own === undefined) return missing
  const repeats = verdict === 'doubled_write' ? ', executed twice' : calls > 3 ? ', repeated' : ''
  // A machine that is busy adds seconds.
  const waited = own.seconds < 5 ? '' : ` after ${Math.floor(own.seconds / 5) * 5} s`
  const later = next?.what === 'ok' ? '' : `, then ${next?.what ?? missing}`
  return `${own.what}${waited}${repeats}${later}`
}

/** Reports the cells that differ from the stored ones. */
function compare({ id }, found) {
  const changes = SERVERS.flatMap((server) =>
    Object.entries(found[server]).flatMap(([fault, cell]) => {
      const before = stored()[id]?.[server]?.[fault]
      return before === cell ? [] : [`${id}, ${server}, ${fault}: ${before} is now ${cell}`]
    }),
  )
  console.log(changes.length === 0 ? `${id}: as stored` : changes.join('\n'))
  if (changes.length > 0) process.exitCode = 1
}
