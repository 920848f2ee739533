import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { systemTool } from './tools.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('./python_client.py', import.meta.url))

/** The observations of a scenario. */
export interface Observed extends Record<string, unknown> {
  readonly received: { readonly method: string }[]
}

/** Plays a scenario with the Python SDK, whose script reports its observations in JSON. */
export async function play(
  scenario: string,
  url: string,
  transport = 'streamableHttp',
  input = '',
): Promise<Observed> {
  const python = systemTool('venv/bin/python', 'The Python SDK')
  const { stdout } = await run(python, [script, scenario, url, transport, input], {
    env: { PATH: process.env['PATH'] ?? '', PYTHONIOENCODING: 'utf-8' },
    timeout: 150_000,
  })
  return JSON.parse(stdout) as Observed
}
