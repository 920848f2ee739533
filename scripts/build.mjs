// Compiles src and packages into build/js, its schemas into build/checks, and bundles the program into dist.
// With --no-check, types are neither checked nor written for users of the library, and there is no
// manual page, in a third of the time. With --if-changed, a build of the same sources is left as it
// is, if it has what is asked for.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { digestOf } from './lib/build-inputs.mjs'
import { bundle } from './lib/bundle.mjs'
import { compileSchemas } from './lib/compile-schemas.mjs'
import { ownDirectory, putDirectory, putFiles } from './lib/put-in-place.mjs'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const OPTIONS = ['--no-check', '--if-changed']
const INPUTS = [
  'src',
  'packages',
  'scripts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
]
const OUTPUTS = ['build/js/src/cli/main.js', 'build/checks/rules.js', 'dist/cli/main.js']
/** Holds the digest of the sources of the last build, and whether it checked types. */
const STAMP = `${ROOT}build/inputs.sha256`

const args = process.argv.slice(2)
const withTypes = !args.includes('--no-check')
const unknown = args.find((arg) => !OPTIONS.includes(arg))
if (unknown !== undefined) {
  throw new Error(`unknown option ${unknown}; use one of ${OPTIONS.join(', ')}`)
}
const digest = await digestOf(ROOT, INPUTS)
const checked = `${digest} with types`
const stamp = await readFile(STAMP, 'utf8').catch(() => '')
const isBuilt =
  OUTPUTS.every((file) => existsSync(`${ROOT}${file}`)) &&
  (stamp === checked || (!withTypes && stamp === digest))
if (args.includes('--if-changed') && isBuilt) process.exit()

// Programs may use the last build meanwhile, and other builds may run.
await ownDirectory(`${ROOT}build/`, async (own) => {
  const manifest = JSON.parse(await readFile(`${ROOT}package.json`, 'utf8'))
  const imports = JSON.parse(JSON.stringify(manifest.imports).replaceAll('./build/', './'))
  await mkdir(`${own}dist`, { recursive: true })
  await writeFile(`${own}package.json`, JSON.stringify({ type: 'module', imports }))
  // Each checker checks again what its files share: four take twice the time of one processor.
  const checkers = String(Math.ceil(availableParallelism() / 2))
  const tsc = ['-p', 'tsconfig.build.json', '--outDir', `${own}js`, '--checkers', checkers]
  if (!withTypes) tsc.push('--noCheck', '--declaration', 'false')
  const compiled = spawnSync(`${ROOT}node_modules/.bin/tsc`, tsc, { cwd: ROOT, stdio: 'inherit' })
  if (compiled.status !== 0) {
    process.exitCode = 1
    return
  }
  await compileSchemas(own)
  await bundle(own)
  await cp(`${ROOT}src/admin/page`, `${own}dist/admin/page`, { recursive: true })
  for (const directory of ['report/page', 'experiment/plans']) {
    const from = `${ROOT}packages/experiments/src/${directory}`
    await cp(from, `${own}dist/${directory}`, { recursive: true })
  }
  if (withTypes) {
    await cp(`${own}js/src/sidecar/create-squall.d.ts`, `${own}dist/library/index.d.ts`)
    await writeManPage(own, manifest)
  }
  // A build that is killed from here on leaves files of two builds.
  await rm(STAMP, { force: true })
  await putDirectory(`${own}js`, `${ROOT}build/js`)
  await putDirectory(`${own}checks`, `${ROOT}build/checks`)
  // Its presence says that there is a program.
  await putFiles(`${own}dist/`, `${ROOT}dist/`, 'cli/main.js')
  await writeFile(STAMP, withTypes ? checked : digest)
})

async function writeManPage(own, manifest) {
  // An image has no manual, and is built without this module.
  const { manPage } = await import('./lib/man-page.mjs')
  const page = await manPage((path) => import(`${own}js/${path}`), manifest)
  await writeFile(`${own}dist/squall.1`, page)
}
