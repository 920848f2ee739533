// Writes again everything in the repository that is generated. What comes from the chart needs
// helm. Pictures are measured, so that each run makes another one: scripts/demo-picture.mjs.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const VITEST = `${ROOT}node_modules/vitest/vitest.mjs`
const SYSTEM = ['--config', 'vitest.system.config.ts']

function run(...args) {
  const env = { ...process.env, UPDATE: '1', SQUALL_HELM: helm }
  execFileSync(process.execPath, args, { cwd: ROOT, env, stdio: 'inherit' })
}

function findHelm() {
  const built = ['system-tools', 'cluster'].map((name) => `${ROOT}build/${name}/bin/helm`)
  const paths = (process.env.PATH ?? '').split(':').map((directory) => `${directory}/helm`)
  return [process.env.SQUALL_HELM, ...built, ...paths].find((file) => file && existsSync(file))
}

const helm = findHelm()
// docs/reference, schemas, dashboards, files of the chart
run('scripts/generate-reference.mjs')
// docs/reference/matrix.md, docs/reference/reach.md, manifests with a sidecar
const PAGES = ['test/matrix/page.test.ts', 'test/faults/reach.test.ts']
run(VITEST, 'run', ...PAGES, 'packages/kubernetes/test/injector/golden.test.ts', '-u')
if (helm === undefined) {
  process.stderr.write(
    'helm is missing: deploy/manifests and test/system/golden were not generated. ' +
      'Run sh test/system/install.sh, or name it in SQUALL_HELM.\n',
  )
  process.exitCode = 1
} else {
  run('scripts/render-manifests.mjs')
  run(VITEST, 'run', ...SYSTEM, 'test/system/chart.test.ts', '-t', 'golden file')
}
