// Checks all types, and lint, format and tests of the files that changed since a commit: HEAD, or the one given.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
/** Lets the compiler check again only what a change affects. */
const BUILD_INFO = 'build/check.tsbuildinfo'
/** These start the built program: `npm test` builds it first. */
const NEEDS_BUILD = /support\/(program|sidecar-process)\.ts'/

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

/** Tests that changed or mirror a changed module, then those that import a value of one themselves. */
function testsOf(changed) {
  const modules = new Set(changed.map((file) => resolve(ROOT, file)))
  const mirrors = new Set(changed.map((file) => file.replace(/^src\/(.*)\.ts$/, 'test/$1.test.ts')))
  const all = git('ls-files', '--cached', '--others', '--exclude-standard', 'test/*.test.ts')
  const found = all.filter((file) => {
    if (file.startsWith('test/system/') || !existsSync(`${ROOT}${file}`)) return false
    if (mirrors.has(file)) return true
    const path = resolve(ROOT, file)
    const source = readFileSync(path, 'utf8')
    if (NEEDS_BUILD.test(source)) return false
    const imports = [...source.matchAll(/^import (?!type )[^;]*? from '(\.[^']+)'/gm)]
    return imports.some(([, to]) => modules.has(resolve(dirname(path), to)))
  })
  const own = found.filter((file) => mirrors.has(file))
  const others = found.filter((file) => !mirrors.has(file))
  return [...own, ...others.slice(0, Math.max(0, MOST_TESTS - own.length))]
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
const tests = testsOf(changed)
process.stdout.write(`${changed.length} files changed, ${tests.length} test files to run\n`)
const code = changed.filter((file) => /\.(ts|mjs|cjs)$/.test(file))
const checks = [run('types', 'tsc', '-p', '.', '--incremental', '--tsBuildInfoFile', BUILD_INFO)]
if (code.length > 0) checks.push(run('lint', 'oxlint', '--type-aware', '--deny-warnings', ...code))
if (changed.length > 0) {
  checks.push(run('format', 'prettier', '--check', '--ignore-unknown', ...changed))
}
if (tests.length > 0) checks.push(run('tests', 'vitest', 'run', '--reporter=dot', ...tests))
const passed = await Promise.all(checks)
process.exitCode = passed.every(Boolean) ? 0 : 1
