// part: api-server
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { injectPod } from '../../packages/kubernetes/src/injector/inject-pod.ts'
import { jsonPatch } from '../../packages/kubernetes/src/injector/json-patch.ts'
import type { Pod } from '../../packages/kubernetes/src/injector/pod.ts'
import { inject } from '../../packages/kubernetes/test/commands/inject/manifests.ts'
import { contexts, pods } from '../../packages/kubernetes/test/injector/pod-arbitrary.ts'

const GOLDEN = new URL('../../packages/kubernetes/test/injector/golden/', import.meta.url)
const PODS = 25

let directory = ''

beforeAll(() => {
  try {
    execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore' })
  } catch {
    throw new Error('kubectl is missing: install it (Debian: kubernetes-client)')
  }
  directory = mkdtempSync(join(tmpdir(), 'squall-kubectl-'))
})

afterAll(() => {
  if (directory !== '') rmSync(directory, { recursive: true })
})

/** Applies a JSON Patch to a manifest with kubectl, without a cluster. */
function kubectlPatch(manifest: string, patch: unknown): unknown {
  const file = join(directory, 'manifest.yaml')
  const patchFile = join(directory, 'patch.json')
  writeFileSync(file, manifest)
  writeFileSync(patchFile, JSON.stringify(patch))
  const args = [
    'patch',
    '--local',
    '--type=json',
    '-f',
    file,
    '--patch-file',
    patchFile,
    '-o',
    'json',
  ]
  const env = { ...process.env, KUBECONFIG: '/dev/null' }
  return JSON.parse(
    execFileSync('kubectl', args, { env, encoding: 'utf8', stdio: 'pipe' }),
  ) as unknown
}

/** kubectl does not write what is null. */
function withoutNulls(pod: Pod): Pod {
  return JSON.parse(JSON.stringify(pod), (_, value: unknown) => value ?? undefined) as Pod
}

describe('kubectl', () => {
  it('makes the injected pod of a pod and the patch', () => {
    const samples = fc.sample(fc.tuple(pods, contexts), { numRuns: 500, seed: 1 })
    let count = 0
    for (const [sample, context] of samples) {
      if (count === PODS) break
      const pod = withoutNulls(sample)
      const injection = injectPod(pod, context)
      if (injection.kind !== 'injected') continue
      count++
      const whole = {
        apiVersion: 'v1',
        kind: 'Pod',
        ...pod,
        metadata: { name: 'x', ...pod.metadata },
      }
      const after = {
        ...whole,
        ...injection.pod,
        metadata: { name: 'x', ...injection.pod.metadata },
      }
      const patch = jsonPatch(whole, after)
      expect(kubectlPatch(JSON.stringify(whole), patch)).toEqual(JSON.parse(JSON.stringify(after)))
    }
    expect(count).toBe(PODS)
  })

  it('reads what squall inject writes as squall inject means it', async () => {
    for (const name of readdirSync(GOLDEN).filter((each) => each.endsWith('.in.yaml'))) {
      const input = readFileSync(new URL(name, GOLDEN), 'utf8')
      const document = input.split(/^---$/m).find((each) => each.includes('template:')) ?? ''
      const flags = {
        'kubernetes-version': ['1.33'],
        annotation: ['environment=yes', 'guard-error-rate=off', 'log-level=debug'],
      }
      const { text } = await inject(document, flags)
      const { text: json } = await inject(document, { ...flags, format: ['json'] })
      expect(kubectlPatch(text, [])).toEqual(JSON.parse(json))
    }
  })
})
