// part: slow
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { validateCommand, type ValidateOptions } from '../../../src/cli/rules/validate.ts'

const EXAMPLES = fileURLToPath(new URL('../../../examples', import.meta.url))

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-validate-'))
})
afterEach(() => rm(directory, { recursive: true }))

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true })
    await writeFile(join(directory, name), text)
  }
}

/** The exit code and the lines for the directory, or another one. */
async function validate(options: Partial<ValidateOptions> = {}, path = directory) {
  let text = ''
  const output = (part: string): void => void (text += part)
  const code = await validateCommand([path], { format: 'text', ...options }, output)
  return { code, text: text.replaceAll(`${path}/`, '').replaceAll(path, '.') }
}

/** A sidecar rejects the directory, as it reads every file in it. */
const NOT_ONE_SET =
  '.: each file is valid, but together the files are not a valid set for npx mcp-squall run --rules; --together shows why\n'
const rule = (name: string): string => `rules: [{ name: ${name}, faults: [hang] }]\n`

it('the shipped examples are valid, and each of them is checked', async () => {
  const { code, text } = await validate({}, EXAMPLES)
  expect(code).toBe(0)
  for (const name of await readdir(EXAMPLES)) {
    if (name.endsWith('.yaml') && name !== 'compose.yaml') expect(text).toContain(`${name}: ok\n`)
  }
  expect(text).toContain('.: each file is valid, but together the files are not a valid set')
})

it('files are checked each by itself, in directories below as well', async () => {
  await write({
    'a.yaml': rule('a'),
    'b.json': '{ "rules": [] }',
    'below/c.yml': rule('a'),
    '.hidden/d.yaml': 'rules: nonsense',
    '.e.yaml': 'rules: nonsense',
    'notes.txt': 'rules: nonsense',
  })
  expect(await validate()).toEqual({ code: 0, text: 'a.yaml: ok\nb.json: ok\nbelow/c.yml: ok\n' })
  await write({ 'below/c.yml': 'rules: nonsense\n' })
  expect(await validate()).toMatchObject({
    code: 1,
    text: expect.stringMatching(
      /^a\.yaml: ok\nb\.json: ok\nbelow\/c\.yml:1:8: rules: [^\n]+\n {2}1 \| rules: nonsense\n {4}\| {8}\^\n$/,
    ),
  })
})

it('files that are no rules files are skipped with the reason', async () => {
  await write({
    'a.yaml': rule('a'),
    'empty.yaml': '# nothing\n',
    'list.yaml': '- 1\n',
    'plan.yaml': 'target: { url: http://127.0.0.1/mcp }\nrules: []\n',
    'role.yaml': 'apiVersion: v1\nkind: ClusterRole\nrules: [{ verbs: [get] }]\n',
    'template.yaml': '{{- if .Values.a }}\na: {{ .b }}\n',
    'text.yaml': 'only text\n',
    'values.yaml': 'replicas: 2\n',
  })
  const reasons = {
    'empty.yaml': 'the file is empty',
    'list.yaml': 'not a rules file: it is a list',
    'plan.yaml': 'an experiment plan; check it with squall experiment validate',
    'role.yaml': 'not a rules file: it is a Kubernetes manifest',
    'template.yaml': 'not a rules file: not valid YAML or JSON, and no key `rules`',
    'text.yaml': 'not a rules file: it is plain text',
    'values.yaml': 'not a rules file: the key `rules` is missing',
  }
  const skipped = Object.entries(reasons).map(([file, reason]) => ({ file, reason }))
  const lines = skipped.map(({ file, reason }) => {
    const shown = reason.replace('squall exp', 'npx mcp-squall exp')
    return `${file}: skipped, ${shown}\n`
  })
  expect(await validate()).toEqual({ code: 0, text: `a.yaml: ok\n${lines.join('')}${NOT_ONE_SET}` })
  const { text } = await validate({ format: 'json' })
  expect(JSON.parse(text)).toEqual({
    ok: true,
    files: [{ file: 'a.yaml', ok: true, problems: [] }],
    skipped,
  })
})

it.each([
  ['without its `rules:`', '- name: a\n  faults: [hang]\n', '1:1'],
  ['that is not YAML', 'rules:\n  - name: [\n', '3:1'],
  ['that is not JSON', '{\n  "rules": [ }', '2:'],
  [
    'with another key in the place of `rules`',
    '# yaml-language-server: $schema=../rules.schema.json\nruls: []\n',
    '2:1',
  ],
  ['with no rules', 'seed: x\n', '1:7'],
])('a rules file %s is not skipped', async (_, text, place) => {
  await write({ 'bad.yaml': text })
  const { code, text: said } = await validate()
  expect(code).toBe(1)
  expect(said).toContain(`bad.yaml:${place}`)
  expect(said).not.toContain('skipped')
})

it('rules that are valid file by file alone are reported, and rejected with --together', async () => {
  await write({ 'a.yaml': rule('a'), 'b.yaml': rule('a') })
  const { code, text } = await validate()
  expect(code).toBe(0)
  expect(text).toBe(`a.yaml: ok\nb.yaml: ok\n${NOT_ONE_SET}`)
  const together = await validate({ together: true })
  expect(together.code).toBe(1)
  expect(together.text).toMatch(/^a\.yaml: ok\nb\.yaml:1:\d+: rules\[0\]\.name: /)
})

it('links are read, but not followed to directories', async () => {
  await write({ 'real/a.yaml': rule('a') })
  await symlink(directory, join(directory, 'loop.yaml'))
  await symlink(directory, join(directory, 'loop'))
  await symlink(join(directory, 'real/a.yaml'), join(directory, 'linked.yaml'))
  await symlink(join(directory, 'nowhere'), join(directory, 'lost.yaml'))
  expect(await validate()).toEqual({
    code: 0,
    text: `linked.yaml: ok\nreal/a.yaml: ok\nlost.yaml: skipped, the link points to a file that does not exist\n${NOT_ONE_SET}`,
  })
})

it('the depth and the number of files are limited', async () => {
  await write({ '1/2/3/4/a.yaml': rule('a'), '1/2/3/4/5/b.yaml': 'rules: nonsense' })
  expect(await validate()).toEqual({
    code: 0,
    text: '1/2/3/4/a.yaml: ok\n1/2/3/4/5: skipped, nested too deeply\n',
  })
  const files = Array.from({ length: 257 }, (_, index) => [`${index}.yaml`, rule('a')] as const)
  await write(Object.fromEntries(files))
  const { code, text } = await validate()
  expect(code).toBe(1)
  expect(text).toContain('contains more than 256 rules files')
})

it('the bytes are limited', async () => {
  const large = `${rule('a')}#${' '.repeat(1024 * 1024 - 100)}`
  const files = Array.from({ length: 17 }, (_, index) => [`${index}.yaml`, large] as const)
  await write(Object.fromEntries(files))
  const { code, text } = await validate({ format: 'json' })
  expect(code).toBe(1)
  expect(text).toContain('contains more than 16 MiB of YAML and JSON')
})
