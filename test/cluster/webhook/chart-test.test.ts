import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { closers } from '../../support/closers.ts'
import { CA } from './stage.ts'
import { startSquall } from '../../support/squall.ts'

const SCRIPT = readFileSync(
  new URL('../../../deploy/chart/files/webhook-test.mjs', import.meta.url),
  'utf8',
)
const opened = closers()

/** Runs what `helm test` runs, as its pod does. */
async function helmTest(port: number, more: NodeJS.ProcessEnv = {}): Promise<[number, string]> {
  const env = { WEBHOOK_HOST: 'localhost', WEBHOOK_PORT: String(port), WEBHOOK_CA: CA.cert }
  const child = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT], {
    env: { ...env, ...more },
  })
  let said = ''
  child.stdout.on('data', (text) => (said += String(text)))
  child.stderr.on('data', (text) => (said += String(text)))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return [code ?? -1, said]
}

it('helm test passes where the webhook would inject', async () => {
  const staged = opened(await startSquall({ webhook: {} }))
  expect(await helmTest(staged.port)).toEqual([
    0,
    expect.stringMatching(/^localhost would inject the sidecar: \d+ changes\n$/m),
  ])
  expect(await staged.metric('squall_injections_total', { result: 'injected' })).toBe(1)
})
