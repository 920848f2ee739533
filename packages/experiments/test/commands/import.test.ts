import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startProgram } from '../../../../test/support/commands.ts'

const directory = mkdtempSync(join(tmpdir(), 'squall-import-'))
afterAll(() => rmSync(directory, { recursive: true }))

function file(text: string): string {
  const path = join(directory, 'plan.yaml')
  writeFileSync(path, text)
  return path
}

const PLAN = 'faults:\n  - type: latency\n  - type: schema_drift\n    extra: 1\n'

test('writes rules that validate, and names each note on standard error', async () => {
  const plan = file(PLAN)
  const out = join(directory, 'rules.yaml')
  const program = startProgram(['import', plan, '-o', out])
  expect(await program.finished()).toMatchObject({
    code: 0,
    stdout: '',
    stderr: `${plan}:3:5: changed: faults[1].type: mcp-chaos only marks the result; Squall makes one random change to it
${plan}:4:5: unknown: faults[1].extra: unknown field
${plan}: 2 rules from mcp-chaos; fields: 1 unknown, 1 changed
`,
  })
  const checked = await startProgram(['validate', out], {}, { here: true })
  expect(checked).toMatchObject({ code: 0 })
  expect(readFileSync(out, 'utf8')).toMatch(/^# Converted from a fault plan of mcp-chaos/)
})

test('replaces no file without --force', async () => {
  const out = join(directory, 'mine.yaml')
  writeFileSync(out, 'rules: []\n')
  const args = ['import', file(PLAN), '-o', out]
  const refused = await startProgram(args, {}, { here: true })
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toMatch(/mine\.yaml" already exists; use --force to overwrite it/)
  expect(readFileSync(out, 'utf8')).toBe('rules: []\n')
  expect(await startProgram([...args, '--force'], {}, { here: true })).toMatchObject({ code: 0 })
})

test('prints rules and notes as JSON', async () => {
  const args = ['import', file(PLAN), '--from', 'mcp-chaos', '--json']
  const { code, stdout } = await startProgram(args, {}, { here: true })
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    ok: true,
    format: 'mcp-chaos',
    rules: 2,
    notes: [
      { kind: 'changed', line: 3, path: 'faults[1].type' },
      { kind: 'unknown', line: 4, path: 'faults[1].extra' },
    ],
  })
})

test('reads standard input', async () => {
  const program = startProgram(['import', '-'], {}, { input: 'faults: [{ type: latency }]' })
  const { stdout, stderr } = await program.finished()
  expect(stdout).toContain('  - name: latency\n')
  expect(stderr).toBe('-: 1 rule from mcp-chaos; every field was converted\n')
})

test('rejects a file with its line and a caret', async () => {
  const plan = file('faults:\n  - type: latencies\n')
  const { code, stdout, stderr } = await startProgram(['import', plan]).finished()
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toContain(`${plan}:2:5: `)
  expect(stderr).toContain('did you mean "latency"?')
  expect(stderr).toContain('  2 |   - type: latencies\n')
})
