// Runs the system tests: `npm run test:system -- browser pod` runs these parts, with files it runs
// these, alone it runs all. --list shows the parts and what they need.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { PARTS } from './ci/parts.mjs'

const VITEST = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))
const SYSTEM = new Map([...PARTS].filter(([, { system }]) => system))

const args = process.argv.slice(2)
if (args.includes('--list')) {
  for (const { name, summary, programs = [], tools = [], kubernetes } of SYSTEM.values()) {
    const needs = [...programs, ...tools, ...(kubernetes === undefined ? [] : ['Kubernetes'])]
    console.log(`${name.padEnd(16)} ${summary}`)
    if (needs.length > 0) console.log(`${''.padEnd(17)}needs ${needs.join(', ')}`)
  }
  process.exit()
}
const projects = args.flatMap((arg) => (SYSTEM.has(arg) ? ['--project', arg] : [arg]))
const run = [VITEST, 'run', '--config', 'vitest.system.config.ts', ...projects]
process.exitCode = spawnSync(process.execPath, run, { stdio: 'inherit' }).status ?? 1
