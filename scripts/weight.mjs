// Counts the lines of each part of the source and compares them with its budget; with --walk also
// the functions that run for one call. Ends with 1 when a part is above its budget. Lower a budget
// with each change that removes lines. A change that needs more lines says in its commit why.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const COUNTED = /\.(?:[jt]s|html|css)$/

/** The parts, their directories below src, and the lines that they may have. */
const PARTS = [
  { name: 'base http mcp', directories: ['base', 'http', 'mcp'], budget: 7741 },
  { name: 'filters', directories: ['filters'], budget: 5798 },
  { name: 'rules', directories: ['rules'], budget: 9824 },
  { name: 'telemetry agents', directories: ['telemetry', 'agents'], budget: 4549 },
  { name: 'upstream', directories: ['upstream'], budget: 2075 },
  { name: 'listener', directories: ['listener'], budget: 16563 },
  { name: 'admin', directories: ['admin'], budget: 6864 },
  { name: 'sidecar', directories: ['cli/run', 'cli/library'], budget: 2030 },
  { name: 'cli', directories: ['cli'], budget: 6830 },
  {
    name: 'kubernetes',
    directories: ['cluster', 'cli/kube', 'cli/inject', 'cli/attach', 'cli/redirect', 'cli/webhook'],
    budget: 13555,
  },
  {
    name: 'experiments',
    directories: ['lab', 'cli/experiment', 'cli/load', 'cli/mcp', 'cli/policy'],
    budget: 26706,
  },
  { name: 'tools', directories: ['lab/top', 'lab/tap', 'rules/import'], budget: 4518 },
]

/** Returns the part of a file: the one with the longest directory that holds the file. */
function partOf(file) {
  const owned = PARTS.flatMap((part) => part.directories.map((directory) => ({ directory, part })))
    .filter(({ directory }) => file.startsWith(`${directory}/`))
    .toSorted((a, b) => b.directory.length - a.directory.length)
  if (owned[0] === undefined) throw new Error(`src/${file} is in no part of scripts/weight.mjs`)
  return owned[0].part
}

const weights = new Map(PARTS.map((part) => [part, { files: 0, lines: 0 }]))
for (const file of readdirSync(`${ROOT}src`, { recursive: true, encoding: 'utf8' })) {
  if (!COUNTED.test(file)) continue
  const weight = weights.get(partOf(file))
  weight.files++
  weight.lines += readFileSync(`${ROOT}src/${file}`, 'utf8').split('\n').length - 1
}

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
  spawnSync(process.execPath, [`${ROOT}bench/walk.mjs`], { stdio: 'inherit' })
}
if (above > 0) process.stdout.write('Remove as many lines as you add, in the same part.\n')
process.exitCode = above > 0 ? 1 : 0
