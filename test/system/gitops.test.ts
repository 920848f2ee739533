// part: api-server
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { startCluster } from '../support/cluster.ts'
import { startProgram } from '../support/commands.ts'
import { apiServerMissing } from './api-server-process.ts'
import type { Fleet } from './fleet.ts'
import { apiOf, gitOpsController, ownersOf } from './gitops-controller.ts'

// A stand-in for Argo CD or Flux with self-healing: what commands do and report while it reverts
// them, and the owners of fields as a real API server notes them.
const missing = apiServerMissing()
if (missing !== undefined) {
  process.stderr.write(`tests with an API server are left out: ${missing}\n`)
}

const PODS = 6
const MANAGER = 'kustomize-controller'
const rules = (name: string): string =>
  `rules: [{ name: ${name}, match: { tool: search }, faults: [delay: { fixed: 1s }] }]\n`
const GIT = { 'rules.yaml': rules('of-git') }
/** The fields that each program owns while the tool and Squall write one ConfigMap. */
const OWNERS = {
  [`${MANAGER} Apply`]: ['data.rules.yaml', 'metadata.labels.example.com/from'],
  'squall Update': ['data.squall-stop', 'metadata.annotations.squall.dev/applied-by'],
  'squall-observed Update': ['metadata.annotations.squall.dev/observed'],
}
const MAY_REVERT = 'warning: Flux manages the ConfigMap squall-rules in shop and may revert'

describe.skipIf(missing !== undefined)('with a GitOps tool that reverts changes', () => {
  const opened = closers()
  let fleet: Fleet
  let api: ReturnType<typeof apiOf>
  let file: string

  beforeAll(async () => {
    fleet = await startCluster('fleet', PODS, 0)
    api = apiOf(fleet.kubeconfig)
    file = join(fleet.directory, 'rules.yaml')
    await writeFile(file, rules('of-a-person'))
  }, 300_000)
  afterAll(() => fleet?.close())

  const run = (...args: readonly string[]) =>
    startProgram([...args, '-n', 'shop'], { KUBECONFIG: fleet.kubeconfig }).finished()

  const controller = async (by: 'apply' | 'replace') =>
    opened(await gitOpsController(fleet.kubeconfig, { data: GIT, by, manager: MANAGER }))

  const observed = async (): Promise<unknown> => {
    const text = (await api.read()).metadata.annotations?.['squall.dev/observed']
    return text === undefined ? undefined : JSON.parse(text)
  }

  it('a stop and its end last beside server-side apply, and each program owns its fields alone', async () => {
    const tool = await controller('apply')
    const stopped = await run('stop')
    expect(stopped.stdout).toContain(`stopped: confirmed by ${PODS} of ${PODS} pods`)
    expect(stopped.stderr).toContain(MAY_REVERT)
    expect(stopped.code).toBe(0)
    expect(ownersOf(await api.read())).toEqual(OWNERS)
    // A sync without any difference, as after each commit, leaves the stop and the annotation.
    await tool.sync()
    expect((await api.read()).data).toMatchObject({
      ...GIT,
      'squall-stop': expect.anything() as unknown,
    })
    expect(await observed()).toMatchObject({ ok: true, state: 'stopped', confirmed: PODS })
    const resumed = await run('resume')
    expect(resumed.stdout).toContain(`resumed: confirmed by ${PODS} of ${PODS} pods`)
    expect(resumed.code).toBe(0)
    await tool.sync()
    expect((await api.read()).data).toEqual({ ...GIT, 'squall-stop': '{"stops":[]}\n' })
    expect(await observed()).toMatchObject({ ok: true, state: 'resumed', confirmed: PODS })
    expect(ownersOf(await api.read())).toEqual(OWNERS)
    expect(tool.reverts()).toBe(0)
  }, 120_000)

  it('rules of squall apply that are reverted are reported with the tool, and not as confirmed', async () => {
    const tool = await controller('apply')
    const before = await observed()
    const { code, stdout, stderr } = await run('apply', '-f', file, '--timeout', '5s')
    expect(tool.reverts()).toBe(1)
    expect(code).toBe(1)
    expect(stdout).toContain(`rules loaded in 0 of ${PODS} pods`)
    expect(stdout).not.toContain('timed out')
    expect(stderr).toContain(MAY_REVERT)
    expect(stderr).toMatch(
      /warning: after this command, rules.yaml of the ConfigMap squall-rules in shop was changed, by kustomize-controller at 20\S+Z; if a GitOps tool reverts changes, write rules.yaml into Git, or suspend the sync\n/,
    )
    expect(await observed()).toEqual(before)
    const owners = ownersOf(await api.read())
    expect(owners[`${MANAGER} Apply`]).toEqual(OWNERS[`${MANAGER} Apply`])
    expect(owners['squall Update']).toEqual([
      ...OWNERS['squall Update'],
      'metadata.labels.squall.dev/rules',
    ])
  }, 120_000)

  it('a tool that does not force its fields conflicts with the rules of squall apply, not with its stop', async () => {
    const tool = await controller('apply')
    await tool.close()
    expect((await run('stop')).code).toBe(0)
    expect((await tool.sync(false)).status).toBe(200)
    expect((await run('resume')).code).toBe(0)
    expect((await run('apply', '-f', file)).code).toBe(0)
    const { status, body } = await tool.sync(false)
    expect(status).toBe(409)
    expect(JSON.stringify(body)).toMatch(/conflict with \\"squall\\".*data.rules.yaml/)
  }, 120_000)

  it('a stop that a tool removes is a failure, which names the key to write into Git', async () => {
    await controller('replace')
    const { code, stdout, stderr } = await run('stop', '--timeout', '5s')
    expect(code).toBe(1)
    expect(stdout).toContain(
      'configmap squall-rules in shop: reverted by another program; new pods apply that change, and running pods may apply it too\n',
    )
    expect(stderr).toMatch(
      /warning: after this command, squall-stop of the ConfigMap squall-rules in shop was removed; if a GitOps tool reverts changes, write squall-stop into Git/,
    )
    expect(await observed()).toBeUndefined()
    expect((await api.read()).data).toEqual(GIT)
  }, 120_000)
})
