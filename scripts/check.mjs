// Checks all types, and lint, format and tests of the files that changed since a commit: HEAD, or
// the one given.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { FAST, partOf } from './ci/test-files.mjs'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
/** Lets the compiler check again only what a change affects. */
const BUILD_INFO = 'build/check.tsbuildinfo'
/** These start the built program: `npm test` builds it first. */
const NEEDS_BUILD = /\bstartProgram\b|support\/wire\/sidecar-process\.ts'/

function git(...args) {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean)
}

function changedSince(base) {
  const files = [
    ...git('diff', '--name-only', '--diff-filter=d', base),
    ...git('ls-files', '--others', '--exclude-standard'),
  ]
  return files.filter((file) => existsSync(`${ROOT}${file}`))
}

/** A change of a test helper concerns dozens of tests: `npm test` runs the rest. */
const MOST_TESTS = 20
/** Concerns every file of the source: functions that became too long. */
const SIZES = 'test/architecture/sizes.test.ts'

/**
 * Tests that changed or have the name of a changed module, then those that import a value of one
 * themselves.
 */
function testsOf(changed) {
  const modules = new Set([...changed, ...changed.map(doorOf)].map((file) => resolve(ROOT, file)))
  const names = new Set(changed.map(nameOf))
  const all = git('ls-files', '--cached', '--others', '--exclude-standard', '*.test.ts')
  const there = all.filter((file) => existsSync(`${ROOT}${file}`))
  const ours = there.filter((file) => partOf(file) === FAST)
  const own = ours.filter((file) => changed.includes(file) || names.has(nameOf(file)))
  if (changed.some((file) => /^(?:packages\/\w+\/)?src\//.test(file))) own.push(SIZES)
  const others = ours.filter((file) => {
    const path = resolve(ROOT, file)
    const imports = readFileSync(path, 'utf8').matchAll(
      /^import (?!type )[^;]*? from '(\.[^']+)'/gm,
    )
    return [...imports].some(([, to]) => modules.has(resolve(dirname(path), to)))
  })
  const found = [...new Set([...own, ...others])]
  const built = found.filter((file) => NEEDS_BUILD.test(readFileSync(`${ROOT}${file}`, 'utf8')))
  const mayRun = found.filter((file) => !built.includes(file))
  const tests = mayRun.slice(0, Math.max(MOST_TESTS, own.length))
  const slow = there.filter((file) => changed.includes(file) && !ours.includes(file))
  return { tests, skipped: [...built, ...mayRun.slice(tests.length)], slow }
}

/** The module by which tests import a module of `test/support`. */
function doorOf(file) {
  return file.replace(/^(test\/support\/\w+)\/.*/, '$1.ts')
}

/** `rules/parse` for `src/rules/file/parse.ts` and for `test/rules/parse.test.ts`; also in packages. */
function nameOf(file) {
  const [, layer, name] =
    /^(?:packages\/\w+\/)?(?:src|test)\/(\w+)\/(?:.*\/)?([^/]+?)(?:\.test)?\.ts$/.exec(file) ?? []
  return `${layer}/${name ?? file}`
}

async function run(name, command, ...args) {
  const begun = performance.now()
  const child = spawn(`${ROOT}node_modules/.bin/${command}`, args, { cwd: ROOT })
  const ended = new Promise((done) => child.once('close', done))
  const [out, error, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  process.stdout.write(`${name}: ${code === 0 ? 'passed' : 'failed'} (${seconds} s)\n`)
  if (code !== 0) process.stdout.write(`${out}${error}\n`)
  return code === 0
}

const changed = changedSince(process.argv[2] ?? 'HEAD')
const { tests, skipped, slow } = testsOf(changed)
process.stdout.write(`${changed.length} files changed, ${tests.length} test files to run\n`)
const code = changed.filter((file) => /\.(ts|js|mjs|cjs)$/.test(file))
const checks = [run('types', 'tsc', '-p', '.', '--incremental', '--tsBuildInfoFile', BUILD_INFO)]
if (code.some((file) => file.endsWith('.js'))) {
  checks.push(run('types of pages', 'tsc', '-p', 'tsconfig.page.json'))
}
if (code.length > 0) {
  const strict = ['--type-aware', '--deny-warnings', '--report-unused-disable-directives']
  checks.push(run('lint', 'oxlint', ...strict, ...code))
}
if (changed.length > 0) {
  checks.push(run('format', 'prettier', '--check', '--ignore-unknown', ...changed))
}
if (tests.length > 0) checks.push(run('tests', 'vitest', 'run', '--reporter=dot', ...tests))
const passed = await Promise.all(checks)
if (skipped.length > 0) {
  process.stdout.write(
    `skipped, npm test runs them:\n${skipped.map((file) => `  ${file}\n`).join('')}`,
  )
}
if (slow.length > 0) {
  process.stdout.write(`skipped, run these by: npm run test:system -- ${slow.join(' ')}\n`)
}
process.exitCode = passed.every(Boolean) ? 0 : 1
