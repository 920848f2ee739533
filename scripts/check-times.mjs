// Measures how long `npm run check` takes after a change of one file, for 20 files of all areas.
// `npm run check` should take 10 s in the median, and at most 30 s.
import { spawnSync } from 'node:child_process'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'

const FILES = [
  'src/base/values.ts',
  'src/http/headers.ts',
  'src/mcp/json-rpc.ts',
  'src/mcp/sse-framer.ts',
  'src/filters/delay.ts',
  'src/filters/truncate.ts',
  'src/rules/file/parse.ts',
  'src/rules/match/compile.ts',
  'src/rules/explain/explain.ts',
  'src/upstream/fast/fast-connection.ts',
  'src/telemetry/metrics.ts',
  'src/agents/agent-watch.ts',
  'src/listener/layers/settled.ts',
  'src/admin/server.ts',
  'packages/kubernetes/src/injector/inject-pod.ts',
  'packages/experiments/src/experiment/plan.ts',
  'packages/experiments/src/commands/simulate.ts',
  'test/support/wire/raw-client.ts',
  'test/listener/limits.test.ts',
  'docs/guides/load.md',
]
const LIMITS = { median: 10, worst: 30 }

const dirty = spawnSync('git', ['status', '--porcelain'], { encoding: 'utf8' }).stdout
if (dirty !== '') throw new Error(`commit or stash these changes first:\n${dirty}`)

const check = () => spawnSync('npm', ['run', '-s', 'check'], { encoding: 'utf8' })
const TYPES = ['tsc', '-p', '.', '--incremental', '--tsBuildInfoFile', 'build/check.tsbuildinfo']
const rows = FILES.map((file) => {
  // Types are checked again only for what changed since: without this, for two changes.
  spawnSync('npx', TYPES)
  const before = readFileSync(file)
  appendFileSync(file, file.endsWith('.md') ? '\nA line.\n' : '\n// A line.\n')
  const begun = performance.now()
  try {
    const { status, stdout } = check()
    const seconds = (performance.now() - begun) / 1000
    console.log(`${seconds.toFixed(1).padStart(6)} s  ${file}${status === 0 ? '' : `\n${stdout}`}`)
    return { file, seconds, passed: status === 0 }
  } finally {
    writeFileSync(file, before)
  }
})
const sorted = rows.map(({ seconds }) => seconds).sort((a, b) => a - b)
const median = sorted[Math.floor(sorted.length / 2)]
const worst = sorted.at(-1)
console.log(
  `median ${median.toFixed(1)} s (limit ${LIMITS.median}), worst ${worst.toFixed(1)} s (limit ${LIMITS.worst})`,
)
const failed = rows.some(({ passed }) => !passed)
process.exitCode = failed || median > LIMITS.median || worst > LIMITS.worst ? 1 : 0
