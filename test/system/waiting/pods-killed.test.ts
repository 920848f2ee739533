// part: slow-nightly
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { startProgram } from '../../support/commands.ts'
import {
  podsStage,
  type PodsStage,
} from '../../../packages/experiments/test/experiment/pods-stage.ts'

const KILLS = Number(process.env['SQUALL_TEST_KILLS'] ?? 2)
/** The longest time from the start of the program to its death. */
const MOST_MS = 6_000
const EXPIRY_MS = 2_000
/**
 * The clock of the API server is known to the second, and the sidecars are asked one after another.
 */
const BLUR_MS = 2_000

let stage: PodsStage

beforeEach(async () => {
  stage = await podsStage()
})

afterEach(() => stage.close())

async function armed(): Promise<readonly string[]> {
  const admins = [...stage.shop.api.sidecars.values()]
  const all = await Promise.all(
    admins.map(async (admin) => {
      const response = await fetch(`${admin}/api/rules`)
      const { rules } = (await response.json()) as { rules: { name: string; phase: string }[] }
      return rules.filter(({ phase }) => phase === 'on').map(({ name }) => name)
    }),
  )
  return all.flat()
}

test(
  `after SIGKILL at ${KILLS} random moments nothing stays armed, and the ConfigMap can be restored`,
  async () => {
    const before = stage.configMap()
    const plan = join(stage.shop.directory, 'plan.yaml')
    await writeFile(plan, stage.text({ hold: '1m', expiry: `${EXPIRY_MS}ms` }))
    const access = ['--kubeconfig', stage.shop.kubeconfig]
    const places = ['--experiments', 'experiments', '--state-dir', 'state'].map((each) =>
      each.startsWith('--') ? each : join(stage.shop.directory, each),
    )
    for (let kill = 0; kill < KILLS; kill++) {
      const runner = startProgram(['experiment', 'run', plan, ...access, ...places])
      const atMs = Math.round(Math.random() * MOST_MS)
      await sleep(atMs)
      runner.signal('SIGKILL')
      await runner.ended
      await sleep(EXPIRY_MS + BLUR_MS)
      expect(await armed(), `killed after ${atMs} ms: ${runner.stderr()}`).toEqual([])
      const args = ['experiment', 'restore', '-n', 'shop', ...access]
      const { code, stdout, stderr } = await startProgram(args).finished()
      expect(code, stdout + stderr).toBe(0)
      expect(stage.configMap(), `killed after ${atMs} ms`).toEqual(before)
      await eventually(async () => ((await armed()).length === 0 ? undefined : 'armed'))
    }
  },
  30_000 * KILLS,
)
