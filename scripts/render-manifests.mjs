// Writes deploy/manifests/install.yaml from the chart; needs helm. With --check it writes nothing
// and fails when the file is stale.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const DEPLOY = fileURLToPath(new URL('../deploy/', import.meta.url))
const FILE = `${DEPLOY}manifests/install.yaml`
const NAMESPACE = 'squall-system'
/** The oldest version of Kubernetes on which the file works. */
const KUBERNETES = '1.30.0'

const HEAD = `# The webhook of Squall, without Helm. Made from deploy/chart with deploy/manifests/values.yaml by
# npm run generate. Before you apply this file, replace the image squall:VERSION in two places with
# yours, and set --kubernetes-version to that of your cluster: see docs/get-started/kubernetes.md.
apiVersion: v1
kind: Namespace
metadata:
  name: ${NAMESPACE}
  labels:
    app.kubernetes.io/part-of: squall
    pod-security.kubernetes.io/enforce: restricted
`

function rendered() {
  const text = execFileSync(
    process.env.SQUALL_HELM ?? 'helm',
    [
      'template',
      'squall',
      `${DEPLOY}chart`,
      `--namespace=${NAMESPACE}`,
      `--kube-version=${KUBERNETES}`,
      '--skip-tests',
      `--values=${DEPLOY}manifests/values.yaml`,
    ],
    { encoding: 'utf8' },
  )
  const own = text
    .replaceAll(/^# Source: .*\n/gm, '')
    .replaceAll(/^ +(helm\.sh\/chart|app\.kubernetes\.io\/managed-by): .*\n/gm, '')
  return `${HEAD}${own}`
}

const check = process.argv.includes('--check')
const text = rendered()
if (!check) {
  writeFileSync(FILE, text)
  process.stdout.write('deploy/manifests/install.yaml written\n')
} else if (readFileSync(FILE, 'utf8') === text) {
  process.stdout.write('deploy/manifests/install.yaml is current\n')
} else {
  process.stderr.write('deploy/manifests/install.yaml is stale: run npm run generate\n')
  process.exitCode = 1
}
