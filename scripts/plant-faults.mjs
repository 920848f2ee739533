// Plants known faults in a copy of the source, one at a time, and shows that the tests of a merge
// find each: first the tests of its area, and all of `npm test` when these pass. Tests of test/architecture do not
// count, because they read the source.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { FAST, partOf } from './ci/test-files.mjs'
import { PLANTS } from './lib/plants.mjs'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const LIST = 'scripts/lib/plants.mjs'
const USAGE = 'usage: node scripts/plant-faults.mjs [--list] [--json] [--only NAME[,NAME]]'

/** Reports a result that proves nothing; its message is for people. */
class PlantError extends Error {}

/** The program that runs, in a process group of its own, and the signal that ended the script. */
let running
let signalled
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    const how = signalled === undefined ? 'SIGTERM' : 'SIGKILL'
    signalled ??= signal
    if (running !== undefined) process.kill(-running.pid, how)
  })
}

/** Runs a program of Node in a directory; returns its exit code and what it printed. */
async function run(cwd, ...args) {
  if (signalled === undefined) {
    const child = spawn(process.execPath, args, {
      cwd,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running = child
    const printed = [text(child.stdout), text(child.stderr)]
    const [[code], ...parts] = await Promise.all([once(child, 'close'), ...printed])
    running = undefined
    if (signalled === undefined) return { code, out: parts.join('') }
  }
  throw new PlantError(`ended by ${signalled}`)
}

function git(cwd, ...args) {
  return execFileSync('git', args, { cwd, encoding: 'utf8' })
}

/** Copies the files of the working tree, without those that git ignores; links the packages. */
async function copyTree(to) {
  const files = git(ROOT, 'ls-files', '-z', '--cached', '--others', '--exclude-standard').split(
    '\0',
  )
  for (const file of files.filter((each) => each !== '' && existsSync(join(ROOT, each)))) {
    await mkdir(dirname(join(to, file)), { recursive: true })
    await cp(join(ROOT, file), join(to, file), { verbatimSymlinks: true })
  }
  // A test asks git for the last commit.
  git(to, 'init', '--quiet')
  git(to, 'add', '--all')
  const author = ['-c', 'user.name=plants', '-c', 'user.email=plants@localhost']
  git(to, ...author, 'commit', '--quiet', '--no-verify', '--message=copy')
  // A directory of its own, because tests write caches to it.
  await mkdir(join(to, 'node_modules'))
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (name.startsWith('.vite')) continue
    await symlink(join(ROOT, 'node_modules', name), join(to, 'node_modules', name))
  }
}

/** Compiles the copy, with `--no-check` without its types. */
async function build(copy, what, ...options) {
  const { code, out } = await run(copy, 'scripts/build.mjs', ...options)
  if (code !== 0) throw new PlantError(`${what} does not compile:\n${out}`)
}

/** Runs tests, all of `npm test` without names; returns the first failed test, or undefined. */
async function firstFailed(copy, tests) {
  const slow = tests.filter((test) => partOf(test) !== FAST)
  if (slow.length === 0) return firstFailedOf(copy, tests)
  const fast = tests.filter((test) => partOf(test) === FAST)
  const failed = fast.length === 0 ? undefined : await firstFailedOf(copy, fast)
  return failed ?? firstFailedOf(copy, ['--config=vitest.system.config.ts', ...slow])
}

async function firstFailedOf(copy, args) {
  const file = join(copy, 'build/results.json')
  await rm(file, { force: true })
  const options = ['--bail=1', '--exclude=test/architecture/**', '--reporter=json']
  const { code, out } = await run(
    copy,
    'node_modules/vitest/vitest.mjs',
    'run',
    ...options,
    `--outputFile=${file}`,
    ...args,
  )
  if (code === 0) return undefined
  const { testResults = [] } = JSON.parse(await readFile(file, 'utf8').catch(() => '{}'))
  for (const { name, status, assertionResults } of testResults) {
    const failed = assertionResults.find((each) => each.status === 'failed')
    if (failed === undefined && status !== 'failed') continue
    return { file: relative(copy, name), test: failed?.fullName ?? 'the file itself' }
  }
  throw new PlantError(`no test failed, but vitest ended with ${code}:\n${out}`)
}

/** Replaces the text of a plant while `use` runs. */
async function planted(copy, { file, from, to }, use) {
  const path = join(copy, file)
  const source = await readFile(path, 'utf8')
  await writeFile(
    path,
    source.replace(from, () => to),
  )
  try {
    return await use()
  } finally {
    await writeFile(path, source)
  }
}

/** Checks that each plant is code that could be merged: compiles the copy with all plants. */
async function checkTypes(copy, plants) {
  const compile = () => build(copy, 'the source with all plants')
  await plants.reduce((use, plant) => () => planted(copy, plant, use), compile)()
}

/** Returns the plants that tests find, by their names, once these tests pass without a plant. */
async function findBy(copy, plants, testsOf, report) {
  const tests = [...new Set(plants.flatMap(testsOf))]
  await build(copy, 'the source', '--no-check')
  const failed = await firstFailed(copy, tests)
  if (failed !== undefined) {
    throw new PlantError(`${failed.file} '${failed.test}' fails without a plant`)
  }
  const found = new Map()
  for (const plant of plants) {
    const begun = performance.now()
    const by = await planted(copy, plant, async () => {
      await build(copy, `the plant ${plant.name}`, '--no-check')
      return firstFailed(copy, testsOf(plant))
    })
    const seconds = Math.round((performance.now() - begun) / 1000)
    if (by !== undefined) found.set(plant.name, { ...by, seconds })
    report(plant, by, seconds)
  }
  return found
}

async function checkFit({ name, file, from }) {
  const source = await readFile(join(ROOT, file), 'utf8').catch(() => '')
  if (source.split(from).length !== 2) {
    throw new PlantError(`the plant ${name} no longer fits ${file}: update ${LIST}`)
  }
}

/** Plants each fault in a copy, which is removed at the end; returns who found them. */
async function findAll(plants, write) {
  await Promise.all(plants.map(checkFit))
  const copy = await mkdtemp(join(tmpdir(), 'squall-plants-'))
  const report = (tests) => (plant, by, seconds) =>
    write(`${plant.name}: ${by === undefined ? `${tests} pass` : foundBy(by)} (${seconds} s)\n`)
  try {
    await copyTree(copy)
    await checkTypes(copy, plants)
    const found = await findBy(copy, plants, ({ tests }) => tests, report('tests of the area'))
    const left = plants.filter(({ name }) => !found.has(name))
    if (left.length === 0) return found
    return new Map([...found, ...(await findBy(copy, left, () => [], report('all tests')))])
  } finally {
    await rm(copy, { recursive: true, force: true, maxRetries: 5 })
  }
}

function foundBy({ file, test }) {
  return `found by ${file} '${test}'`
}

function table(plants, found) {
  const width = Math.max(...plants.map(({ name }) => name.length))
  const rows = plants.map(({ name, fault }) => {
    const by = found.get(name)
    return `${name.padEnd(width)}  ${by === undefined ? `NOT FOUND: ${fault}` : by.file}\n`
  })
  return `\n${rows.join('')}\n`
}

function chosen(only) {
  if (only === undefined) return PLANTS
  return only.split(',').map((name) => {
    const plant = PLANTS.find((each) => each.name === name)
    if (plant === undefined) throw new PlantError(`no plant ${name}: --list names them\n${USAGE}`)
    return plant
  })
}

async function main() {
  const options = { list: { type: 'boolean' }, json: { type: 'boolean' }, only: { type: 'string' } }
  const { list, json, only } = parseArgs({ options }).values
  const plants = chosen(only)
  if (list) {
    for (const { name, file, fault } of plants) {
      process.stdout.write(`${name}: ${fault} (${file})\n`)
    }
    return
  }
  const output = json ? process.stderr : process.stdout
  const found = await findAll(plants, (line) => output.write(line))
  const missed = plants.length - found.size
  if (json) {
    const results = plants.map(({ name, file }) => ({ name, file, found: found.get(name) ?? null }))
    process.stdout.write(`${JSON.stringify({ plants: results }, null, 2)}\n`)
  } else {
    process.stdout.write(table(plants, found))
    process.stdout.write(`${found.size} passed, ${missed} failed\n`)
  }
  process.exitCode = missed === 0 ? 0 : 1
}

try {
  await main()
} catch (error) {
  if (!(error instanceof PlantError) && !error.code?.startsWith('ERR_PARSE_ARGS')) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = signalled === undefined ? 2 : 128 + constants.signals[signalled]
}
