// part: agents
// Measures the pinned frameworks of docs/reference/frameworks.md again. A cell that has changed is news
// for users: measure with `node scripts/frameworks.mjs NAME` and read the difference.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { startProgram } from '../support/commands.ts'

const SCRIPT = fileURLToPath(new URL('../../scripts/frameworks.mjs', import.meta.url))
const TABLE = new URL('../../examples/frameworks/frameworks.json', import.meta.url)

interface Framework {
  readonly id: string
  readonly isPinned?: true
}

const pinned = (JSON.parse(readFileSync(TABLE, 'utf8')) as readonly Framework[]).filter(
  ({ isPinned }) => isPinned,
)

it.each(pinned)(
  '$id survives what the page says',
  async ({ id }) => {
    // Those who install packages may need variables for a proxy or a mirror.
    const env = process.env as Readonly<Record<string, string>>
    const program = startProgram([SCRIPT, '--check', id], env, { program: process.execPath })
    const { code, stdout, stderr } = await program.finished()
    expect(`${stdout}${stderr.slice(-4096)}`).toContain(`${id}: as stored`)
    expect(code).toBe(0)
  },
  900_000,
)
