// Runs the system tests. Those with a cluster mostly wait, and run beside those that need neither a
// cluster nor a quiet machine. Arguments go to vitest: then it runs once.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const VITEST = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))

/** Projects of vitest.system.config.ts; those of one step run at the same time. */
const STEPS = [['waiting'], ['cluster', 'other'], ['alone']]

/** Runs vitest. The output of a quiet run is printed at its end, so that lines do not mix. */
async function run(args, quiet = false) {
  const stdio = ['inherit', quiet ? 'pipe' : 'inherit', quiet ? 'pipe' : 'inherit']
  const all = [VITEST, 'run', '--config', 'vitest.system.config.ts', ...args]
  const child = spawn(process.execPath, all, { stdio })
  const printed = quiet ? Promise.all([text(child.stdout), text(child.stderr)]) : undefined
  const [code] = await once(child, 'exit')
  for (const part of (await printed) ?? []) process.stdout.write(part)
  return code === 0
}

let ok = true
const args = process.argv.slice(2)
if (args.length > 0) ok = await run(args)
else {
  for (const projects of STEPS) {
    const runs = projects.map((name, index) => run(['--project', name], index > 0))
    ok = (await Promise.all(runs)).every(Boolean) && ok
  }
}
process.exitCode = ok ? 0 : 1
