// Proves from the tarball that a release works on every supported Node, and that its versions
// agree. The other versions of Node come from sh test/system/install.sh.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { problemsOfRepository } from './lib/repository.mjs'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const TESTS = ['--config', 'vitest.system.config.ts', 'test/system/package.test.ts']
const results = []

function check(name, does) {
  try {
    results.push([name, 'ok', does() ?? ''])
  } catch (error) {
    results.push([name, 'FAILED', error.message.split('\n')[0]])
  }
}

function read(path) {
  return readFileSync(`${ROOT}${path}`, 'utf8')
}

function run(file, ...args) {
  execFileSync(file, args, { cwd: ROOT, stdio: 'inherit' })
}

const manifest = JSON.parse(read('package.json'))
const { version, engines } = manifest

check('versions agree', () => {
  const [, chart] = /^appVersion: "?([^"\n]+)"?$/m.exec(read('deploy/chart/Chart.yaml')) ?? []
  if (chart !== version) throw new Error(`the chart is for ${chart}, the package is ${version}`)
  return version
})
check('the repository is named', () => {
  const [problem] = problemsOfRepository(manifest, process.env.GITHUB_REPOSITORY)
  if (problem !== undefined) throw new Error(problem)
  return manifest.homepage
})
check('the changelog has something to release', () => {
  const [, unreleased = ''] =
    /^## \[Unreleased\]\n([^]*?)(?=^## \[|(?![^]))/m.exec(read('CHANGELOG.md')) ?? []
  const entries = unreleased.split('\n').filter((line) => line.startsWith('- ')).length
  if (entries === 0 && !read('CHANGELOG.md').includes(`## [${version}]`)) {
    throw new Error(`no entry under Unreleased, and none for ${version}`)
  }
  return `${entries} entries under Unreleased`
})
check(`install, demo, run, load and library on Node ${process.versions.node}`, () => {
  run('npm', 'run', '-s', 'clean')
  run('npm', 'run', '-s', 'build')
  run(process.execPath, 'node_modules/vitest/vitest.mjs', 'run', ...TESTS)
})
for (const other of ['22', '24']) {
  check(`install, demo, run, load and library on Node ${other}`, () => {
    run('sh', 'test/system/on-node.sh', other, ...TESTS)
  })
}

process.stdout.write(`\nmcp-squall ${version}, for Node ${engines.node}\n`)
for (const [name, result, note] of results) {
  process.stdout.write(`${result.padEnd(6)}  ${name}${note === '' ? '' : `: ${note}`}\n`)
}
const failed = results.filter(([, result]) => result !== 'ok').length
process.stdout.write(`${results.length - failed} passed, ${failed} failed\n`)
process.exitCode = failed === 0 ? 0 : 1
