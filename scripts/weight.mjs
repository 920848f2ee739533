// Counts the lines of each part of the source and compares them with its budget; with --walk also
// the functions that run for one call. Ends with 1 when a part is above its budget. Lower a budget
// with each change that removes lines. A change that needs more lines says in its commit why.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const COUNTED = /\.(?:[jt]s|html|css)$/

/** The parts, their directories, and the lines that they may have. */
const PARTS = [
  { name: 'base http mcp', directories: ['src/base', 'src/http', 'src/mcp'], budget: 9252 },
  { name: 'filters', directories: ['src/filters'], budget: 7003 },
  { name: 'rules', directories: ['src/rules'], budget: 12667 },
  { name: 'telemetry agents', directories: ['src/telemetry', 'src/agents'], budget: 6163 },
  { name: 'upstream', directories: ['src/upstream'], budget: 2140 },
  { name: 'listener', directories: ['src/listener'], budget: 16664 },
  { name: 'admin', directories: ['src/admin'], budget: 7363 },
  { name: 'sidecar', directories: ['src/sidecar'], budget: 2850 },
  { name: 'cli', directories: ['src/cli'], budget: 3272 },
  { name: 'kubernetes', directories: ['packages/kubernetes/src'], budget: 15242 },
  { name: 'experiments', directories: ['packages/experiments/src'], budget: 32396 },
  { name: 'tools', directories: ['packages/tools/src'], budget: 2508 },
]

function filesBelow(directory) {
  return readdirSync(`${ROOT}${directory}`, { recursive: true, encoding: 'utf8' })
    .filter((file) => COUNTED.test(file))
    .map((file) => `${directory}/${file}`)
}

const known = PARTS.flatMap(({ directories }) => directories)
const packages = readdirSync(`${ROOT}packages`).map((name) => `packages/${name}/src`)
for (const file of ['src', ...packages].flatMap(filesBelow)) {
  if (!known.some((directory) => file.startsWith(`${directory}/`))) {
    throw new Error(`${file} is in no part of scripts/weight.mjs`)
  }
}

const weights = new Map(
  PARTS.map((part) => {
    const files = part.directories.flatMap(filesBelow)
    const lines = files.map((file) => readFileSync(`${ROOT}${file}`, 'utf8').split('\n').length - 1)
    return [part, { files: files.length, lines: lines.reduce((total, each) => total + each, 0) }]
  }),
)

const row = (name, files, lines, budget, note = '') =>
  `${name.padEnd(18)}${String(files).padStart(6)}${String(lines).padStart(8)}${String(budget).padStart(8)}  ${note}\n`
let above = 0
let output = row('part', 'files', 'lines', 'budget')
for (const [{ name, budget }, { files, lines }] of weights) {
  if (lines > budget) above++
  output += row(name, files, lines, budget, lines > budget ? `${lines - budget} above` : '')
}
const sum = (numbers) => numbers.reduce((total, each) => total + each, 0)
const all = [...weights.values()]
output += row(
  'all',
  sum(all.map(({ files }) => files)),
  sum(all.map(({ lines }) => lines)),
  sum(PARTS.map(({ budget }) => budget)),
)
process.stdout.write(output)
if (process.argv.includes('--walk')) {
  const walk = spawnSync(process.execPath, [`${ROOT}bench/walk.mjs`], { stdio: 'inherit' })
  if (walk.status !== 0) process.exitCode = 1
}
if (above > 0) process.stdout.write('Remove as many lines as you add, in the same part.\n')
if (above > 0) process.exitCode = 1
