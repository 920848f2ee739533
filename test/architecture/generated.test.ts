import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const SCRIPT = fileURLToPath(new URL('../../scripts/generate-reference.mjs', import.meta.url))

test('reference pages, schemas, dashboards and chart files are what the code generates', async () => {
  const check = promisify(execFile)(process.execPath, [SCRIPT, '--check'])
  const { stdout } = await check.catch((error: { stdout: string }) => error)
  const stale = stdout.split('\n').filter((line) => line !== '' && !line.endsWith(' is current'))
  expect(stale, 'generated files are stale: run npm run generate').toEqual([])
}, 60_000)
