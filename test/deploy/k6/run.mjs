// Runs the script of this path once, as one virtual user of k6 does, and prints what it has added.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const [script, environment] = process.argv.slice(2)
globalThis.__ENV = JSON.parse(environment)

const directory = mkdtempSync(join(tmpdir(), 'squall-k6-'))
try {
  const k6 = join(directory, 'node_modules/k6')
  mkdirSync(k6, { recursive: true })
  const exports = {
    '.': './metrics.mjs',
    './encoding': './encoding.mjs',
    './http': './http.mjs',
    './metrics': './metrics.mjs',
  }
  writeFileSync(join(k6, 'package.json'), JSON.stringify({ name: 'k6', exports }))
  const here = dirname(fileURLToPath(import.meta.url))
  for (const file of ['encoding.mjs', 'http.mjs', 'metrics.mjs'])
    cpSync(join(here, file), join(k6, file))
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  cpSync(dirname(script), directory, { recursive: true })
  const load = await import(pathToFileURL(join(directory, 'load.js')).href)
  const before = load.setup()
  load.default()
  load.teardown(before)
  const { added } = await import(pathToFileURL(join(k6, 'metrics.mjs')).href)
  process.stdout.write(JSON.stringify({ added, thresholds: load.options.thresholds }))
} finally {
  rmSync(directory, { recursive: true, force: true })
}
