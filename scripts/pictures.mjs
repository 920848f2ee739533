// Makes the pictures of the documents: docs/pictures. Needs what the system tests need: Chromium,
// tmux and Prometheus. Look at each before you commit it.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { smallPng } from './lib/small-png.mjs'
import { terminalSvg } from './lib/terminal-svg.mjs'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const SOURCES = ['build/pictures/', 'build/dashboards/top/'].map((path) => `${ROOT}${path}`)
const PICTURES = `${ROOT}docs/pictures/`
const MAX_BYTES = 150_000

const tests = ['pictures', 'dashboard-pictures'].map((name) => `test/system/${name}.test.ts`)
const vitest = [
  `${ROOT}node_modules/vitest/vitest.mjs`,
  'run',
  '--config',
  'vitest.system.config.ts',
]
// --keep: what the last run of the tests left.
if (!process.argv.includes('--keep')) {
  execFileSync(process.execPath, [...vitest, ...tests], { cwd: ROOT, stdio: 'inherit' })
}

mkdirSync(PICTURES, { recursive: true })
for (const source of SOURCES) {
  for (const name of readdirSync(source).sort()) {
    const file = readFileSync(`${source}${name}`)
    if (name.endsWith('.png')) write(name, smallPng(file))
    if (name.endsWith('.screen')) {
      const about = { title: 'squall top', about: 'The screen of squall top', columns: 100 }
      const lines = file.toString().trimEnd().split('\n')
      for (const scheme of ['light', 'dark']) {
        write(
          name.replace('.screen', `-${scheme}.svg`),
          Buffer.from(terminalSvg(lines, { ...about, scheme })),
        )
      }
    }
  }
}

function write(name, bytes) {
  if (bytes.length > MAX_BYTES)
    throw new Error(`${name} has ${bytes.length} bytes, above ${MAX_BYTES}`)
  writeFileSync(`${PICTURES}${name}`, bytes)
  process.stdout.write(`docs/pictures/${name}: ${Math.round(bytes.length / 1024)} KiB\n`)
}
