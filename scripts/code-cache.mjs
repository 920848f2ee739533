// Runs what starts with a pod, with the flags of the image, and keeps what V8 made of compiling it: a start
// from there takes two thirds of the time. Of use to this Node on this kind of machine only.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
const CACHE = new URL('../dist/code-cache/', import.meta.url)
const RECORD = fileURLToPath(new URL('lib/record-scripts.cjs', import.meta.url))
/** V8 takes back only what was made with the flags that it has. */
const FLAGS = ['--max-semi-space-size=2', `--require=${RECORD}`]
const PATIENCE_MS = 30_000
const RULES = `rules:
  - { name: late, match: { tool: late_* }, percent: 50, faults: [delay: { fixed: 1ms }] }
  - { name: gone, match: { tool: gone, headers: { x-run: { regex: a.b } } }, faults: [abort: { status: 503 }] }
`
const CALL = (/** @type {string} */ name) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } })
const RESPONSE = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ok"}]}}'

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()

/** @param {readonly string[]} args */
function start(args) {
  const child = spawn(process.execPath, [...FLAGS, MAIN, ...args], {
    env: {},
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: PATIENCE_MS,
  })
  running.add(child)
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }))
  return { child, ended, lines: createInterface({ input: child.stdout }) }
}

/** @param {number} port @param {string} rules @param {string} control */
async function serve(port, rules, control) {
  const places = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--control', control]
  const upstream = ['--upstream', `http://127.0.0.1:${port}`]
  const { child, ended, lines } = start(['run', ...places, ...upstream, '--rules', rules])
  /** @type {Record<string, string>} */
  const addresses = {}
  for await (const line of lines) {
    const { msg, address } = JSON.parse(line)
    if (address !== undefined) addresses[msg] = address
    if (msg === 'admin listening') break
  }
  // So that a full pipe holds nothing up.
  child.stdout.resume()
  const { listening, 'admin listening': admin } = addresses
  if (listening === undefined || admin === undefined) throw new Error('squall run did not start')
  return { child, ended, listening, admin }
}

/** @param {string} address @param {string} path @param {string} [body] */
async function ask(address, path, body) {
  const response = await fetch(`http://${address}${path}`, {
    headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body }),
  })
  return response.text()
}

/** @param {string} command @param {ReturnType<typeof start>['ended']} ended */
async function well(command, ended) {
  const { code, signal } = await ended
  if (code !== 0) throw new Error(`squall ${command} ended by ${signal ?? code}`)
}

const directory = await mkdtemp(join(tmpdir(), 'squall-cache-'))
const app = createServer((request, response) => {
  request.resume().once('end', () => {
    response.setHeader('content-type', 'application/json').end(RESPONSE)
  })
})
try {
  await rm(CACHE, { recursive: true, force: true })
  await once(app.listen(0, '127.0.0.1'), 'listening')
  const address = app.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const rules = join(directory, 'rules.yaml')
  await writeFile(rules, RULES)
  const control = `unix:${join(directory, 'control.sock')}`
  const { child, ended, listening, admin } = await serve(address.port, rules, control)
  for (const tool of ['plain', 'plain', 'late_one', 'late_one', 'plain']) {
    await ask(listening, '/mcp', CALL(tool))
  }
  for (const path of ['/readyz', '/livez']) await ask(admin, path)
  const metrics = await ask(admin, '/metrics')
  // Rejected rules would leave the code cold that reads rules and injects faults.
  for (const line of [
    'squall_rules_last_reload_success 1',
    'squall_rule_matches_total{rule="late"} 2',
  ]) {
    if (!metrics.includes(`\n${line}\n`)) throw new Error(`the warm-up does not end with ${line}`)
  }
  await well('wait-ready', start(['wait-ready', '--admin', admin]).ended)
  await well('pre-stop', start(['pre-stop', '--control', control, '--stop-wait', '0s']).ended)
  child.kill('SIGTERM')
  await well('run', ended)
} finally {
  // Those that have ended are not there to be killed.
  for (const child of running) child.kill('SIGKILL')
  app.close()
  app.closeAllConnections()
  await rm(directory, { recursive: true, force: true })
}
