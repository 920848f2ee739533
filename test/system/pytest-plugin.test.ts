// part: clients
// The plugin of pytest, installed as a user does, with its own tests.
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { ROOT } from '../docs/blocks.ts'
import { systemTool } from './tools.ts'

const run = promisify(execFile)

it('the plugin of pytest is installed, and its tests pass with the Python SDK', async () => {
  const wheels = systemTool('wheels', 'Packages of the Python SDK')
  const home = await mkdtemp(join(tmpdir(), 'squall-pytest-'))
  const venv = join(home, 'venv')
  // Beside the project, so that building leaves nothing in it.
  const plugin = join(home, 'plugin')
  const python = join(venv, 'bin/python')
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    SQUALL: `${process.execPath} ${ROOT}bin/squall.cjs`,
  }
  try {
    await cp(`${ROOT}python`, plugin, { recursive: true })
    await run(systemTool('venv/bin/python', 'Python'), ['-m', 'venv', venv])
    const install = ['-m', 'pip', 'install', '--quiet', '--no-index', '--find-links', wheels]
    await run(python, [...install, './plugin', 'mcp'], { cwd: home, env })
    const tests = await run(
      python,
      ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'plugin/tests'],
      { cwd: home, env },
    ).catch((error: { readonly stdout: string }) => error)
    expect(tests.stdout).toMatch(/\n\d{2} passed in /)
    expect(tests.stdout).not.toContain('failed')
  } finally {
    await rm(home, { recursive: true, force: true })
  }
})
