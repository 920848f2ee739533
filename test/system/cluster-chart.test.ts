// part: cluster
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHART, NAMESPACE } from './helm.ts'
import { type Installed, missingForCluster, RELEASE, webhookReady } from './cluster/installed.ts'
import { startCluster } from '../support/cluster.ts'

// The chart's own test, and an upgrade from the first chart that keeps its values, in a real
// cluster.
const BUILD = fileURLToPath(new URL('../../build/', import.meta.url))
const FIRST_VALUES = fileURLToPath(new URL('golden/values-0.1.0.yaml', import.meta.url))

let installed: Installed
let older: string

describe.skipIf(missingForCluster() !== undefined)('the chart', () => {
  beforeAll(async () => {
    older = mkdtempSync(join(BUILD, 'older-chart-'))
    cpSync(CHART, older, { recursive: true })
    cpSync(FIRST_VALUES, join(older, 'values.yaml'))
    installed = await startCluster('installed')
  }, 480_000)

  afterAll(async () => {
    await installed?.cluster.close()
    rmSync(older, { recursive: true, force: true })
  }, 60_000)

  test('passes helm test, which asks the webhook', async () => {
    const { ok, text } = await installed.stage.helm('test', 'squall', '-n', NAMESPACE)
    expect(text).toMatch(/Phase:\s+Succeeded/)
    expect(ok).toBe(true)
    const pods = await installed.stage.kubectl('get', 'pods', '-n', NAMESPACE, '-o', 'name')
    expect(pods).not.toContain('squall-test')
  })

  test('is upgraded with --reuse-values from the values of the first chart', async () => {
    const { stage } = installed
    const [name, , ...options] = RELEASE
    const first = await stage.helm('upgrade', name, older, ...options, '--reset-values')
    expect(first.text).toContain('has been upgraded')
    const next = await stage.helm('upgrade', name, CHART, '-n', NAMESPACE, '--reuse-values')
    expect(next.text).toContain('has been upgraded')
    expect(next.ok).toBe(true)
    await webhookReady(stage)
    const tested = await stage.helm('test', name, '-n', NAMESPACE)
    expect(tested.text).toMatch(/Phase:\s+Succeeded/)
  })
})
