// Runs the parts of `.ci/run` or `.ci/nightly`. A failure does not stop it; the last line counts what
// passed and what failed: one for each part, and one for each test that a part ran.
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { changedSince, partsFor } from './changed.mjs'
import { installPrograms, isInstalled, toolCommands } from './needs.mjs'
import { MERGE, NIGHTLY, PARTS } from './parts.mjs'
import { countTests, endAll, runCommand } from './step.mjs'

const LOGS = 'build/ci'
/** Minutes after which no part begins. */
const LIMITS = { run: 85, nightly: 235 }

/** The directory of built tools. Tests must not see it: `squall load --tools` reads the same variable. */
const toolsDirectory = process.env.SQUALL_TOOLS

class UsageError extends Error {}

const begun = performance.now()
const rows = []
const totals = { passed: 0, failed: 0 }
const running = new Set()

const script = process.argv[2]
try {
  process.exitCode = await main(process.argv.slice(3))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(`.ci/${script}: ${error.message}`)
  process.exitCode = 2
}

async function main(args) {
  const all = script === 'run' ? MERGE : NIGHTLY
  const options = optionsOf(args)
  const chosen = options.changed === undefined ? all : afterChange(options.changed)
  const parts = options.part.length === 0 ? chosen : options.part.map(partNamed)
  if (options.list || parts.length === 0) return printList(parts)
  prepareEnvironment()
  for (const name of ['SIGINT', 'SIGTERM']) {
    process.once(name, () => {
      endAll()
      for (const { part, from } of running) record(part, from, false, `ended by ${name}`)
      printSummary()
      process.exit(130)
    })
  }
  await prepare(parts, options.part.length > 0 || options.changed !== undefined)
  for (const batch of batchesOf(parts)) await Promise.all(batch.map(step))
  printSummary()
  return totals.failed === 0 ? 0 : 1
}

function optionsOf(args) {
  const usage = `usage: .ci/${script} [--list] [--part NAME]...${script === 'run' ? ' [--changed [REV]]' : ''}`
  const given = [...args]
  // The commit may be left out.
  const at = given.indexOf('--changed')
  if (at !== -1 && (given[at + 1] ?? '--').startsWith('--')) given.splice(at + 1, 0, 'main')
  try {
    const { values } = parseArgs({
      args: given,
      options: {
        list: { type: 'boolean', default: false },
        part: { type: 'string', multiple: true, default: [] },
        ...(script === 'run' ? { changed: { type: 'string' } } : {}),
      },
    })
    return values
  } catch (error) {
    throw new UsageError(`${error.message}\n${usage}`)
  }
}

function partNamed(name) {
  const part = PARTS.get(name)
  if (part !== undefined) return part
  throw new UsageError(`unknown part ${name}; use one of: ${[...PARTS.keys()].join(', ')}`)
}

function printList(parts) {
  for (const { name, minutes, summary } of parts) {
    console.log(`${name.padEnd(16)} ${`≤ ${minutes} min`.padStart(9)}  ${summary}`)
  }
  return 0
}

function afterChange(commit) {
  let paths
  try {
    paths = changedSince(commit)
  } catch (error) {
    throw new UsageError(`--changed: ${error.message}`)
  }
  const { run, left, everythingFor } = partsFor(paths, existsSync)
  console.log(`${paths.length} paths changed since ${commit}`)
  for (const path of everythingFor.slice(0, 3))
    console.log(`everything is run: no area has ${path}`)
  for (const { name, why } of left) console.log(`left out: ${name}: ${why}`)
  return run.map(partNamed)
}

/** Sets what all parts see. */
function prepareEnvironment() {
  delete process.env.SQUALL_TOOLS
  Object.assign(process.env, {
    CI: 'true',
    NO_COLOR: '1',
    FORCE_COLOR: '0',
    npm_config_color: 'false',
    npm_config_update_notifier: 'false',
    DEBIAN_FRONTEND: 'noninteractive',
    // The same cases each time, so that what is red is about the change; tests alone choose new ones.
    SQUALL_TEST_SEED: process.env.SQUALL_TEST_SEED ?? '1',
  })
  mkdirSync(LOGS, { recursive: true })
}

/** Installs and builds what the parts need. */
async function prepare(parts, isPartial) {
  await step({ name: 'node', minutes: 1, run: ['node', 'bin/node-version.cjs'] })
  const programs = [...new Set(parts.flatMap((part) => part.programs ?? []))]
  if (programs.length > 0) {
    const from = performance.now()
    const installed = installPrograms(programs)
    record({ name: 'packages' }, from, installed, installed ? '' : 'see above for what is missing')
  }
  if (!isPartial || !isInstalled()) await step({ name: 'install', minutes: 5, run: ['npm', 'ci'] })
  const build = isPartial ? ['npm', 'run', 'build', '--', '--if-changed'] : ['npm', 'run', 'build']
  await step({ name: 'build', minutes: 3, run: build })
  for (const [index, run] of toolCommands(parts).entries()) {
    // Programs of Go are built where they were never built before.
    const env = toolsDirectory === undefined ? {} : { SQUALL_TOOLS: toolsDirectory }
    await step({ name: index === 0 ? 'tools' : 'kubernetes', minutes: 40, run, env })
  }
}

/** Returns the parts in groups that run at the same time. */
function batchesOf(parts) {
  const batches = []
  for (const part of parts) {
    if (part.beside && batches.length > 0) batches.at(-1).push(part)
    else batches.push([part])
  }
  return batches
}

async function step(part) {
  const { name, minutes, run, env, tests } = part
  const log = `${LOGS}/${name}.log`
  console.log(`==> ${name}\n    ${run.join(' ')}`)
  const from = performance.now()
  const left = LIMITS[script] * 60_000 - (from - begun)
  const milliseconds = Math.min(minutes * 60_000, left)
  if (milliseconds <= 0) {
    record(part, from, false, 'no time is left')
    return
  }
  const entry = { part, from }
  running.add(entry)
  const code = await runCommand(run, { env, milliseconds, log })
  running.delete(entry)
  process.stdout.write(readFileSync(log))
  const why = code === undefined ? 'ran out of time' : `exit code ${code}`
  if (!tests) {
    record(part, from, code === 0, code === 0 ? '' : why)
    return
  }
  const { passed, failed, skipped } = countTests(log)
  totals.passed += passed
  totals.failed += failed
  const counts = `${passed} tests passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
  if (code === 0 && passed === 0) record(part, from, false, 'no test was run')
  else record(part, from, code === 0, code === 0 ? counts : `${why}; ${counts}`)
}

function record({ name }, from, ok, note) {
  totals[ok ? 'passed' : 'failed']++
  const seconds = Math.round((performance.now() - from) / 1000)
  const result = ok ? 'ok' : 'FAILED'
  rows.push(`${name.padEnd(18)} ${result.padEnd(7)} ${String(seconds).padStart(5)}s  ${note}`)
  console.log(`==> ${name}: ${result} (${seconds}s) ${note}\n`)
}

function printSummary() {
  const line = '-'.repeat(63)
  const minutes = ((performance.now() - begun) / 60_000).toFixed(1)
  console.log([line, ...rows, line, `${minutes} minutes`].join('\n'))
  console.log(`${totals.passed} passed, ${totals.failed} failed`)
}
