// part: slow
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { blocksOf, ROOT } from '../docs/blocks.ts'
import { SHORTER } from '../docs/elsewhere.ts'
import { startTerminal } from '../support/commands.ts'
import { runAction } from './action-runner.ts'

const FILE = `${ROOT}examples/ci/github-actions.yml`
const RULES = `rules:
  - name: some-calls-fail
    match: { method: tools/call }
    percent: 2
    faults: [abort: { status: 503 }]
`

interface Step {
  readonly run?: string
  readonly uses?: string
  readonly with?: Readonly<Record<string, unknown>>
}

it('the page about CI shows the workflow', async () => {
  const [shown] = await blocksOf('docs/get-started/ci.md')
  expect(shown!.text).toBe(await readFile(FILE, 'utf8'))
})

it('the workflow passes, and leaves report and gates', { timeout: 60_000 }, async () => {
  const reader = await startTerminal({ reader: {} })
  try {
    const { jobs } = parse(await readFile(FILE, 'utf8')) as {
      readonly jobs: { readonly faults: { readonly steps: readonly Step[] } }
    }
    // The clone is in the directory squall of the project, as the workflow wants it.
    const project = dirname(reader.directory)
    await writeFile(join(project, 'rules.yaml'), RULES)
    await symlink(`${ROOT}examples/server.mjs`, join(project, 'server.js'))
    const here = (text: string): string =>
      SHORTER.reduce((short, [from, to]) => short.replace(from, to), text).replace(
        /\b3000\b/,
        String(reader.port(3000)),
      )
    let report = ''
    for (const { run, uses, with: inputs = {} } of jobs.faults.steps) {
      if (run !== undefined) {
        const { code, text } = await reader.run(`cd '${project}' && ${run}`)
        expect([0, null], `${run}\n${text}`).toContain(code)
      }
      if (uses?.startsWith('./') !== true) continue
      const ended = await runAction(join(project, uses, 'action.yml'), project, {
        ...Object.fromEntries(Object.entries(inputs).map(([k, v]) => [k, here(String(v))])),
        listen: `127.0.0.1:${reader.port(15300)}`,
        admin: `127.0.0.1:${reader.port(15390)}`,
      })
      expect(ended.failed, ended.log).toBe(false)
      report = ended.outputs['report']!
    }
    expect(await readFile(join(report, 'load.xml'), 'utf8')).toContain('<testsuite')
    expect(await readFile(join(report, 'report.html'), 'utf8')).toContain('<!doctype html>')
  } finally {
    await reader.close()
  }
})
