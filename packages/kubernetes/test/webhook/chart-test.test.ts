import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { CA } from '../../../../test/support/cluster.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'

const SCRIPT = readFileSync(
  new URL('../../../../deploy/chart/files/webhook-test.mjs', import.meta.url),
  'utf8',
)
const opened = closers()

/** Runs what `helm test` runs, as its pod does. */
async function helmTest(
  port: number,
  more: Readonly<Record<string, string>> = {},
): Promise<[number, string]> {
  const env = { WEBHOOK_HOST: 'localhost', WEBHOOK_PORT: String(port), WEBHOOK_CA: CA.cert }
  const { code, stdout, stderr } = await startProgram(
    ['--input-type=module', '-e', SCRIPT],
    { ...env, ...more },
    { program: process.execPath },
  ).finished()
  return [code ?? -1, stdout + stderr]
}

it('helm test passes where the webhook would inject', async () => {
  const staged = opened(await startSquall({ webhook: {} }))
  expect(await helmTest(staged.port)).toEqual([
    0,
    expect.stringMatching(/^localhost would inject the sidecar: \d+ changes\n$/m),
  ])
  expect(await staged.metric('squall_injections_total', { result: 'injected' })).toBe(1)
})
