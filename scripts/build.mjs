// Compiles src into build/js, its schemas into build/checks, and bundles the program into dist.
// With --no-check, types are not checked.
import { spawnSync } from 'node:child_process'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { bundle } from './lib/bundle.mjs'
import { compileSchemas } from './lib/compile-schemas.mjs'
import { ownDirectory, putDirectory, putFiles } from './lib/put-in-place.mjs'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const unknown = process.argv.slice(2).find((arg) => arg !== '--no-check')
if (unknown !== undefined) throw new Error(`unknown option ${unknown}; the only one is --no-check`)

// Programs may use the last build meanwhile, and other builds may run.
await ownDirectory(`${ROOT}build/`, async (own) => {
  const imports = { '#checks/*': './checks/*.js' }
  await mkdir(`${own}dist`, { recursive: true })
  await writeFile(`${own}package.json`, JSON.stringify({ type: 'module', imports }))
  const tsc = ['-p', 'tsconfig.build.json', '--outDir', `${own}js`]
  if (process.argv.includes('--no-check')) tsc.push('--noCheck')
  const compiled = spawnSync(`${ROOT}node_modules/.bin/tsc`, tsc, { cwd: ROOT, stdio: 'inherit' })
  if (compiled.status !== 0) {
    process.exitCode = 1
    return
  }
  await compileSchemas(own)
  await bundle(own)
  await cp(`${ROOT}src/admin/page`, `${own}dist/admin/page`, { recursive: true })
  await cp(`${ROOT}src/lab/report/page`, `${own}dist/report/page`, { recursive: true })
  await cp(`${own}js/cli/library/index.d.ts`, `${own}dist/library/index.d.ts`)
  await putDirectory(`${own}js`, `${ROOT}build/js`)
  await putDirectory(`${own}checks`, `${ROOT}build/checks`)
  // Its presence says that there is a program.
  await putFiles(`${own}dist/`, `${ROOT}dist/`, 'cli/main.js')
})
