import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { firstRules } from '../../src/commands/init.ts'
import { planSchemaText } from '../../src/experiment/plan-schema.ts'
import type { ToolInfo } from '../../src/load/clients/load-client.ts'
import { parseRules } from '../../../../src/rules/file/parse.ts'
import { rulesSchemaText } from '../../../../src/rules/file/schema.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { startUpstream } from '../../../../test/support/wire.ts'

const inputSchema = { type: 'object' }
const TOOLS = [
  { name: 'delete_all', inputSchema, annotations: { destructiveHint: true } },
  { name: 'Search:Flights', inputSchema, annotations: { readOnlyHint: true } },
]

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))

let directory: string
let server: Awaited<ReturnType<typeof start>>

const start = () => startUpstream('scripted', ['ok'], TOOLS)

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-init-'))
  server = await start()
})

afterAll(async () => {
  await server.close()
  await rm(directory, { recursive: true })
})

const squall = (...args: readonly string[]) => startProgram(['init', ...args], {}, { here: true })

it('writes rules that act on a read-only tool, and calls none', async () => {
  const out = join(directory, 'rules.yaml')
  const { code, stdout, stderr } = await squall('--target', server.url.href, '--out', out)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain(`npx mcp-squall run --upstream ${server.url.origin} --rules ${out}\n`)
  const text = await readFile(out, 'utf8')
  const parsed = parseRules(text)
  if (!parsed.ok) throw new Error('invalid')
  const written = parsed.file.rules.map(({ name, enabled, match }) => [name, enabled, match?.tool])
  expect(written).toEqual([
    ['search-flights-fails', true, 'Search:Flights'],
    ['delete-all-is-slow', false, 'delete_all'],
  ])
  expect(server.calls).toEqual([])
})

it('prints a command that a shell reads back, for a path with a space', async () => {
  const out = join(directory, 'my rules.yaml')
  const { stdout } = await squall('--target', server.url.href, '--out', out)
  expect(stdout).toContain(` --rules '${out}'\n`)
})

it('names the schema by a path that every clone of a project has, or not at all', async () => {
  const named = async (project: string) => {
    const out = join(project, 'config', 'rules.yaml')
    await mkdir(join(project, 'config'), { recursive: true })
    expect(await squall('--target', server.url.href, '--out', out)).toMatchObject({ code: 0 })
    return /^# yaml-language-server: \$schema=(.+)\n/.exec(await readFile(out, 'utf8'))?.[1]
  }
  const clone = fileURLToPath(new URL('../../../../build/init-test', import.meta.url))
  try {
    const schema = await readFile(join(clone, 'config', (await named(clone)) ?? ''), 'utf8')
    expect(JSON.parse(schema)).toEqual(JSON.parse(rulesSchemaText()))
  } finally {
    await rm(clone, { recursive: true, force: true })
  }
  const other = join(directory, 'other')
  await mkdir(join(other, '.git'), { recursive: true })
  expect(await named(other)).toBeUndefined()
})

it('replaces no file without --force', async () => {
  const out = join(directory, 'mine.yaml')
  await writeFile(out, 'rules: []\n')
  const refused = await squall('--target', server.url.href, '--out', out)
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toMatch(/mine\.yaml" already exists; use --force to overwrite it/)
  expect(await readFile(out, 'utf8')).toBe('rules: []\n')
  const { code } = await squall('--target', server.url.href, '--out', out, '--force')
  expect(code).toBe(0)
  expect(await readFile(out, 'utf8')).toContain('search-flights-fails')
})

it('says what is wrong with a target that does not speak MCP', async () => {
  const { code, stderr, stdout } = await squall('--target', 'http://127.0.0.1:4/mcp', '--out', '-')
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^squall: the target cannot be reached .*; check host and port/)
  expect((await squall()).stderr).toMatch(/^squall: --target is missing; write the URL/)
})

it('names of tools cannot leave their place in the file', () => {
  const names = [
    '"] }\nrules: evil',
    '\u202e#{}: &x *y',
    'x'.repeat(500),
    '',
    "it's: [a]",
    '\u2028',
  ]
  for (const name of names) {
    const tool = { name, inputSchema, outputSchema: undefined, hint: 'reads' } as ToolInfo
    const listed = { server: `s\n${name}`, protocolVersion: '2025-11-25', tools: [tool] }
    const parsed = parseRules(firstRules(listed, new URL('http://127.0.0.1:3000/mcp')))
    if (!parsed.ok) {
      // A name may be too long or empty for a rule; nothing else is wrong.
      expect(parsed.problems.map(({ path }) => path)).toEqual(
        parsed.problems.map(() => expect.stringMatching(/match\.tool/) as unknown),
      )
      continue
    }
    expect(parsed.file.rules).toHaveLength(2)
    expect(parsed.file.rules[0]!.match?.tool).toBe(name)
  }
})

it('a ready plan begins with the line that names its schema', async () => {
  const line = ['experiment', 'catalog', 'latency']
  const { stdout } = await startProgram(line, {}, { cwd: ROOT }).finished()
  const [, schema = ''] = /^# yaml-language-server: \$schema=(.+)\n/.exec(stdout) ?? []
  expect(JSON.parse(await readFile(join(ROOT, schema), 'utf8'))).toEqual(
    JSON.parse(planSchemaText()),
  )
  const plan = join(directory, 'plan.yaml')
  await writeFile(plan, stdout)
  const checked = await startProgram(['experiment', 'validate', plan], {}, { here: true })
  expect(checked).toMatchObject({ code: 0, stderr: '' })
})
