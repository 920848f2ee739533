// Files of mcp-chaos and mcp-chaos-monkey in the place of rules.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readCheckedRules } from '../../src/cli/rules/rules-source.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { startProgram, startSquall } from '../support/commands.ts'

const opened = closers()

const PLAN = 'seed: 7\nfaults:\n  - type: drop_tool\n    tools: [probe]\n'
const SCENARIO = `{
  "name": "down",
  "faults": [{ "target": "probe", "config": { "type": "error", "statusCode": 503 } }]
}`

it('a plan and a scenario act, reload, and are rejected with their line', async () => {
  const pod = opened(await startSquall({ rules: PLAN }))
  expect((await pod.ask('probe')).text).toContain("tool 'probe' unavailable")
  expect(await pod.text('other')).toBe('fine')
  const { fields } = await pod.squall.logged(
    'the rules come from another tool; these fields differ in Squall',
  )
  expect(fields).toEqual([expect.stringMatching(/rules\.yaml:1:1: changed: seed: /)])

  await pod.mounted.swap(SCENARIO)
  await eventually(async () => {
    const { status } = await pod.ask('probe')
    return status === 503 ? undefined : `responds ${status}`
  })

  await pod.mounted.swap(`${PLAN}    tool: probe\n`)
  const { problems } = await pod.squall.logged(
    'the rules are invalid; the previous version stays active',
  )
  expect(String(problems)).toContain('rules.yaml:5:5: faults[0].tool: unknown field')
  expect(await pod.text('probe')).toBe('503')
})

it('validate and explain read them, and name the conversion', async () => {
  const pod = opened(await startSquall({ rules: PLAN }))
  const { file, directory } = pod.mounted
  const run = (...args: readonly string[]) => startProgram(args, {}, { here: true })
  const checked = await run('validate', file)
  expect(checked).toMatchObject({ code: 0 })
  expect(checked.stdout).toContain('ok, rules of another tool; 1 field differs: ')
  const explained = await run('explain', file, '--tool', 'probe')
  expect(explained.stdout).toContain('drop-tool-probe')

  const other = join(directory, 'service.yaml')
  await writeFile(other, 'kind: VirtualService\nspec: {}\n')
  const rejected = await run('validate', other)
  expect(rejected).toMatchObject({ code: 1 })
  expect(rejected.stdout).toContain(
    `${other}:1:1: is an Istio VirtualService, not a rules file; convert it with squall import`,
  )
})

it('files of one directory are merged, and those of a tool are not applied to a cluster', async () => {
  const pod = opened(await startSquall({ rules: PLAN }))
  const { file, directory } = pod.mounted
  await writeFile(join(directory, 'other.yaml'), 'seed: 8\nrules: []\n')
  const merged = await startProgram(['validate', '--together', directory], {}, { here: true })
  expect(merged).toMatchObject({ code: 1 })
  expect(merged.stdout).toContain('rules.yaml:1:1: seed: "other.yaml" also sets it')
  const { problems } = await readCheckedRules(file)
  expect(problems).toMatchObject([{ problems: [{ hint: 'convert it with squall import' }] }])
})
