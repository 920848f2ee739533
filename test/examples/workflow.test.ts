// part: slow
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { blocksOf, ROOT } from '../docs/blocks.ts'
import { SHORTER } from '../docs/elsewhere.ts'
import { startTerminal } from '../support/commands.ts'

const FILE = `${ROOT}examples/ci/github-actions.yml`
const RULES = `rules:
  - name: some-calls-fail
    match: { method: tools/call }
    percent: 2
    faults: [abort: { status: 503 }]
`

interface Step {
  readonly run?: string
  readonly 'working-directory'?: string
}

it('the page about CI shows the workflow', async () => {
  const [shown] = await blocksOf('docs/get-started/ci.md')
  expect(shown!.text).toBe(await readFile(FILE, 'utf8'))
})

it('the steps of the workflow pass, and leave report and gates', { timeout: 60_000 }, async () => {
  const reader = await startTerminal({ reader: {} })
  try {
    const { jobs } = parse(await readFile(FILE, 'utf8')) as {
      readonly jobs: { readonly faults: { readonly steps: readonly Step[] } }
    }
    // The clone is in the directory squall of the project, as the workflow wants it.
    const project = dirname(reader.directory)
    await writeFile(join(project, 'rules.yaml'), RULES)
    await symlink(`${ROOT}examples/server.mjs`, join(project, 'server.js'))
    for (const step of jobs.faults.steps) {
      if (step.run === undefined || step.run === 'npm ci') continue
      const directory = join(project, step['working-directory'] ?? '.')
      const command = SHORTER.reduce((text, [long, short]) => text.replace(long, short), step.run)
      const { code, text } = await reader.run(`cd '${directory}' && ${command.trim()}`)
      expect([0, null], `${step.run}\n${text}`).toContain(code)
    }
    expect(await readFile(join(project, 'faults.xml'), 'utf8')).toContain('<testsuite')
    expect(await readFile(join(project, 'faults.html'), 'utf8')).toContain('<!doctype html>')
  } finally {
    await reader.close()
  }
})
