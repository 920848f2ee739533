import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rulesSchemaText } from '../../../src/rules/file/schema.ts'
import { validateCommand } from '../../../src/cli/rules/validate.ts'
import { startProgram } from '../../support/commands.ts'
import type { ProblemFormat } from '../../../src/rules/file/problem.ts'

let dir = ''
const at = (name: string): string => join(dir, name)

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'squall-validate-'))
  await writeFile(at('good.yaml'), 'rules: [{ name: a, faults: [{ abort: { status: 503 } }] }]')
  await writeFile(at('bad.yaml'), 'rules: []\nsede: 1\nversion: 2\n')
  await writeFile(at('large.yaml'), Buffer.alloc(3 * 1024 * 1024, '#'))
  await symlink(at('nowhere'), at('dangling.yaml'))
})
afterAll(() => rm(dir, { recursive: true }))

async function validate(format: ProblemFormat, ...names: string[]) {
  let text = ''
  const code = await validateCommand(
    names.map((name) => at(name)),
    { format },
    (part) => void (text += part),
  )
  return { code, text: text.replaceAll(`${dir}/`, '') }
}

describe('squall validate', () => {
  it('ends with 0 and says so when all files are in order', async () => {
    expect(await validate('text', 'good.yaml', 'good.yaml')).toEqual({
      code: 0,
      text: 'good.yaml: ok\ngood.yaml: ok\n',
    })
  })

  it('names disabled rules', async () => {
    await writeFile(at('off.yaml'), 'rules: [{ name: a, enabled: false, faults: [hang] }]')
    expect(await validate('text', 'off.yaml')).toEqual({
      code: 0,
      text: 'off.yaml: ok; these rules are disabled: a\n',
    })
  })

  it.each([
    ['text', 'idle.yaml: ok\nwarning: the rule a matches nothing that catalog can affect: nothing'],
    ['github', '::warning title=Squall rules::the rule a matches nothing that catalog can affect'],
    ['json', '"rule": "a",\n      "fault": "catalog",\n      "reason": "nothing_to_act_on"'],
  ] as const)('warns of a fault that can never act, as %s', async (format, said) => {
    await writeFile(
      at('idle.yaml'),
      'rules: [{ name: a, match: { tool: b }, faults: [hang, catalog: { hide: "*" }] }]',
    )
    const { code, text } = await validate(format, 'idle.yaml')
    expect(code).toBe(0)
    expect(text).toContain(said)
  })

  it('ends with 1 and reports every error of every file', async () => {
    const { code, text } = await validate('text', 'bad.yaml', 'good.yaml', 'bad.yaml')
    expect(code).toBe(1)
    expect(text.split('\n').map((line) => line.slice(0, 14))).toEqual([
      'bad.yaml:2:1: ',
      '  2 | sede: 1',
      '    | ^',
      'bad.yaml:3:10:',
      '  3 | version:',
      '    |         ',
      'good.yaml: ok',
      'bad.yaml:2:1: ',
      '  2 | sede: 1',
      '    | ^',
      'bad.yaml:3:10:',
      '  3 | version:',
      '    |         ',
      '',
    ])
  })

  it('shows the line of an error with a caret, cut and without what a terminal obeys', async () => {
    const tools = Array.from({ length: 40 }, (_, index) => `tool_${index}`).join(', ')
    await writeFile(
      at('frames.yaml'),
      `rules:\n  - { name: "\u202ea", matsch: 1, faults: [hang] }\n  - { name: b, faults: [hang], match: { tool: [${tools}], toll: 1, prompt: [${tools}] } }\n`,
    )
    const { text } = await validate('text', 'frames.yaml')
    const frames = text.split('\n').filter((line) => line.startsWith('  '))
    const marked = frames.flatMap((line, index) =>
      line.endsWith('^') ? [frames[index - 1]!.slice(line.length - 1).slice(0, 6)] : [],
    )
    expect(marked).toEqual(['"\\u{20', 'matsch', 'toll: ', 'prompt'])
    expect(Math.max(...frames.map((line) => line.length))).toBeLessThan(100)
    expect(text).not.toContain('\u202e')
  })

  it.each([
    ['missing.yaml', 'cannot be read'],
    ['dangling.yaml', 'cannot be read'],
    ['large.yaml', '1 MiB'],
  ])('tells that %s is no rules file', async (name, reason) => {
    const { code, text } = await validate('text', name)
    expect(code).toBe(1)
    expect(text).toContain(reason)
    expect(text.split('\n').length).toBe(2)
  })

  it('says where there are no rules', async () => {
    await mkdir(at('empty'))
    await writeFile(at('empty.yaml'), '')
    const { code, text } = await validate('text', 'empty', 'empty.yaml')
    expect(code).toBe(0)
    expect(text).toBe(
      'empty: ok, without rules: the directory has no rules file\nempty.yaml: ok, without rules: the file is empty\n',
    )
  })

  it.each(['/dev/null', '/dev/zero'])(
    'rejects the device %s as squall run does',
    async (device) => {
      const run = ['--upstream', 'http://127.0.0.1:9', '--listen', '127.0.0.1:0', '--admin', 'off']
      const program = startProgram(['run', '--rules', device, ...run])
      const { problems } = await program.logged('the rules are invalid; only temporary faults act')
      await program.kill()
      const { code, stdout } = await startProgram(['validate', device], {}, { here: true })
      expect(code).toBe(1)
      expect(stdout.trim().split('\n')).toEqual(problems)
    },
  )

  it.each(['-', '/dev/stdin'])('reads a pipe that a shell names %s to its end', async (path) => {
    const script = 'cat "$1" | "$0" "$2" validate "$3"'
    const program = fileURLToPath(new URL('../../../bin/squall.cjs', import.meta.url))
    const args = ['-c', script, process.execPath, at('bad.yaml'), program, path]
    const { code, stdout } = await startProgram(args, {}, { program: 'sh' }).finished()
    expect(code).toBe(1)
    expect(stdout).toContain(`${path}:2:1: `)
  })

  it('writes JSON', async () => {
    const { code, text } = await validate('json', 'good.yaml', 'bad.yaml')
    expect(code).toBe(1)
    const report = JSON.parse(text) as { ok: boolean; files: { problems: object[] }[] }
    expect(report.ok).toBe(false)
    expect(report.files.map(({ problems }) => problems.length)).toEqual([0, 2])
    expect(report.files[1]!.problems[0]).toMatchObject({ code: 'unknown_key', line: 2, column: 1 })
  })

  it('writes annotations, and nothing for files in order', async () => {
    expect((await validate('github', 'good.yaml')).text).toBe('')
    expect((await validate('github', 'bad.yaml')).text).toMatch(
      /^::error file=bad\.yaml,line=2,col=1,title=.*::sede: unknown key.*\n::error .*\n$/,
    )
  })
})

describe('squall schema', () => {
  it('is a JSON document', () => {
    expect(JSON.parse(rulesSchemaText())).toMatchObject({ title: 'Squall rules' })
  })
})
