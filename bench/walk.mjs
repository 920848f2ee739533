// Counts the functions of src that run for one call, and their files: plain, delayed and truncated.
// Run npm run build first; --files prints each of them. A faulted call runs through the files of a
// plain one and through those of its fault: what one screen cannot hold is an idea with a file of
// its own.
import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Session } from 'node:inspector/promises'

// The compiled modules look for the manifest where the bundle has it: two directories above.
const MANIFEST = new URL('../build/js/package.json', import.meta.url)
const CHECKS = new URL('../build/js/checks', import.meta.url)
const removeBoth = () => [MANIFEST, CHECKS].forEach((path) => rmSync(path, { force: true }))
removeBoth()
process.once('exit', removeBoth)
const manifest = { type: 'module', version: '0.0.0', imports: { '#checks/*': './checks/*.js' } }
writeFileSync(MANIFEST, JSON.stringify(manifest))
symlinkSync('../checks', CHECKS)
const { createSquall } = await import('../build/js/src/sidecar/create-squall.js')

const RULES = {
  plain: [],
  delay: [{ delay: { fixed: '1ms' } }],
  truncate: [{ truncate: { content: { percent: 50 } } }],
}
const WARM_UP = 20
const text = 'hello world '.repeat(20)

const app = createServer((req, res) => {
  req.resume().on('end', () => {
    res.setHeader('content-type', 'application/json')
    const result = { content: [{ type: 'text', text }] }
    res.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
  })
})
await new Promise((resolve) => app.listen(0, '127.0.0.1', resolve))
const upstream = `http://127.0.0.1:${app.address().port}/mcp`

async function call(url) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}',
  })
  await response.text()
}

/**
 * The calls of a kind, of which the one with the fewest files counts: timers may run during the
 * others.
 */
const TRIES = 5

/** Returns the files with a function that ran during a call, with those functions. */
async function filesOf(faults) {
  const rules = faults.length === 0 ? [] : [{ name: 'r', faults }]
  const squall = await createSquall({ upstream, rules: { rules } })
  for (let i = 0; i < WARM_UP; i++) await call(squall.url)
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const walks = []
  for (let tries = 0; tries < TRIES; tries++) {
    await session.post('Profiler.takePreciseCoverage')
    await call(squall.url)
    await new Promise((resolve) => setTimeout(resolve, 50))
    walks.push(filesIn((await session.post('Profiler.takePreciseCoverage')).result))
  }
  session.disconnect()
  await squall.close()
  return walks.toSorted((a, b) => a.length - b.length)[0]
}

function filesIn(result) {
  return result
    .filter(({ url }) => url.includes('/build/js/src/') && !url.includes('/create-squall.js'))
    .map(({ url, functions }) => ({
      file: url.split('/build/js/src/')[1],
      ran: functions.filter(({ ranges }) => ranges[0].count > 0).map((each) => each.functionName),
    }))
    .filter(({ ran }) => ran.length > 0)
    .toSorted((a, b) => a.file.localeCompare(b.file))
}

for (const [name, faults] of Object.entries(RULES)) {
  const files = await filesOf(faults)
  const parts = new Map()
  for (const { file } of files) {
    const [part] = file.split('/')
    parts.set(part, (parts.get(part) ?? 0) + 1)
  }
  const counts = [...parts].map(([part, count]) => `${part} ${count}`)
  const functions = files.reduce((sum, { ran }) => sum + ran.length, 0)
  process.stdout.write(
    `${name}: ${functions} functions in ${files.length} files (${counts.join(', ')})\n`,
  )
  if (!process.argv.includes('--files')) continue
  for (const { file, ran } of files) process.stdout.write(`  ${file}: ${ran.join(' ')}\n`)
}
app.close()
