import { Ajv } from 'ajv'
import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { parseRules } from '../../src/rules/file/parse.ts'
import { parse } from 'yaml'
import { exampleFile } from './example.ts'

const files = await readdir(new URL('../../examples/', import.meta.url))
const examples = files
  .filter((file) => /\.ya?ml$/.test(file) && file !== 'compose.yaml')
  .map((file) => file.slice(0, -5))
const here = new URL('./', import.meta.url)
const tests = (await readdir(here)).filter((file) => file.endsWith('.test.ts'))
const sources = await Promise.all(tests.map((file) => readFile(new URL(file, here), 'utf8')))
const overview = await readFile(new URL('../../examples/README.md', import.meta.url), 'utf8')

const schema = await readFile(new URL('../../deploy/rules.schema.json', import.meta.url), 'utf8')
const inEditor = new Ajv({ strict: false, validateFormats: false }).compile(
  JSON.parse(schema) as object,
)

it('the rules of the Compose example name their schema', async () => {
  const file = new URL('../../examples/compose/rules/rules.yaml', import.meta.url)
  const [, path = ''] = /^# yaml-language-server: \$schema=(.+)\n/.exec(
    await readFile(file, 'utf8'),
  )!
  expect(await readFile(new URL(path, file), 'utf8')).toBe(schema)
})

it('there are examples, all written as .yaml', () => {
  expect(examples.length).toBeGreaterThanOrEqual(15)
  expect(files.filter((file) => /\.(yml|json)$/.test(file))).toEqual([])
})

describe.each(examples)('%s', (name) => {
  it('has no error, and rules that end by themselves', async () => {
    const parsed = parseRules(await readFile(exampleFile(name)))
    expect(parsed).toMatchObject({ ok: true })
    if (!parsed.ok) return
    for (const rule of parsed.file.rules) {
      expect(rule.for, `${rule.name} has a time limit`).toBeLessThanOrEqual(3_600_000)
      expect(rule.percent ?? 0, `${rule.name} leaves most calls alone`).toBeLessThan(50)
    }
  })

  it('is accepted by the schema that its first line names', async () => {
    const text = await readFile(exampleFile(name), 'utf8')
    expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=../deploy/rules.schema.json')
    expect(inEditor(parse(text)), JSON.stringify(inEditor.errors)).toBe(true)
  })

  it('is short and says what it is about', async () => {
    const lines = (await readFile(exampleFile(name), 'utf8')).split('\n')
    expect(lines.length).toBeLessThanOrEqual(61)
    for (const part of ['# Cause:', '# Check in your agent:', '# Metrics:']) {
      expect(
        lines.some((line) => line.startsWith(part)),
        part,
      ).toBe(true)
    }
  })

  it('is tested and listed', () => {
    const starts = new RegExp(`startExample\\(\\s*'${name}'`)
    expect(sources.some((source) => starts.test(source))).toBe(true)
    expect(overview).toContain(`[${name}.yaml](${name}.yaml)`)
  })
})
