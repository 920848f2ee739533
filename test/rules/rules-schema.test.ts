import { readdirSync, readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { FAULTS } from '../../src/filters/index.ts'
import { parseRules } from '../../src/rules/file/parse.ts'
import type { RuleFileSpec } from '../../src/rules/file/rule-spec.ts'
import { rulesJsonSchema } from '../../src/rules/file/schema.ts'
import type { Rule, RulesFile } from '../../src/rules/file/schema.ts'
import { resolved } from '../../src/rules/file/schema-node.ts'
import type { SchemaNode } from '../../src/rules/file/schema-node.ts'
import { accepted, ruleText, faultText } from './rules-text.ts'
import { parse } from 'yaml'

const schema = rulesJsonSchema()

/** All nodes of the schema, each with the way to it. */
function nodes(node: unknown = schema, path = '#'): [string, SchemaNode][] {
  if (typeof node !== 'object' || node === null) return []
  return [
    [path, node],
    ...Object.entries(node).flatMap(([key, inner]) => nodes(inner, `${path}/${key}`)),
  ]
}

describe("the rules' schema", () => {
  it('is JSON Schema draft 7 that any validator takes, with formats it does not know', () => {
    const editor = new Ajv({ strict: false, validateFormats: false })
    const validate = editor.compile(schema)
    expect(schema).toMatchObject({ $schema: 'http://json-schema.org/draft-07/schema#' })
    for (const good of [
      'percent: 5%',
      'for: 5m',
      'match: { tool: { not: [a] } }',
      'stickyBy: { header: a }',
    ]) {
      expect(validate(parse(ruleText(good))), good).toBe(true)
    }
    for (const bad of ['percent: 101', 'for: 5', 'match: { tol: a }', 'from: today']) {
      expect(validate(parse(ruleText(bad))), bad).toBe(false)
    }
    expect(validate(parse(faultText('{ dealy: {} }')))).toBe(false)
    expect(validate({})).toBe(true)
  })

  it('has no union with two branches for one type, so that an error has one meaning', () => {
    const unions = nodes().filter(([, node]) => Array.isArray(node.anyOf))
    expect(unions.length).toBeGreaterThan(5)
    for (const [path, { anyOf }] of unions) {
      const types = anyOf!.map((branch) => resolved(branch, schema.definitions).type)
      expect(types, path).not.toContain(undefined)
      expect(new Set(types).size, path).toBe(types.length)
    }
  })

  it('has a meaning for every key', () => {
    for (const [path, { properties }] of nodes()) {
      if (path.endsWith('/properties') || properties === undefined) continue
      for (const [key, node] of Object.entries(properties)) {
        expect(node.description, `${path} ${key}`).toMatch(/\.$/)
      }
    }
  })

  it('has examples that are right', () => {
    const editor = new Ajv({ strict: false, validateFormats: false, validateSchema: false })
    editor.addSchema(schema, 'rules')
    for (const [path, node] of nodes()) {
      if (node.examples === undefined) continue
      const validate = editor.compile({ $ref: `rules${path}` })
      for (const example of node.examples) {
        expect(validate(example), `${path} ${JSON.stringify(example)}`).toBe(true)
      }
    }
  })

  it('gives the types that rules are compiled from', () => {
    expectTypeOf<RulesFile>().toExtend<RuleFileSpec>()
    expectTypeOf<Rule['for']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<Rule['dryRun']>().toEqualTypeOf<boolean>()
    expect(parseRules('').ok).toBe(true)
  })
})

describe('the reference pages', () => {
  const directory = new URL('../../docs/reference/', import.meta.url)
  const faults = readdirSync(new URL('faults/', directory)).map((name) => `faults/${name}`)
  const texts = ['rules.md', 'matchers.md', ...faults].map((name) =>
    readFileSync(new URL(name, directory), 'utf8'),
  )
  const page = texts.join('\n').replace(/ +\|/g, ' |')

  it('has every key of the file, of rules, matches and faults', () => {
    for (const [path, { properties }] of nodes()) {
      if (path.endsWith('/properties')) continue
      for (const key of Object.keys(properties ?? {})) {
        if (FAULTS.some(({ name }) => name === key)) expect(page).toContain(`\n# ${key}: `)
        else expect(page).toMatch(new RegExp(`\\|? ?\`(\\w+\\.)*${key}\``))
      }
    }
  })

  it('has tables whose rows are as wide as their heads', () => {
    const cells = (row: string): number => row.replaceAll('\\|', '').split('|').length
    const tables = page.split(/\n(?!\|)/).filter((block) => block.includes('\n|'))
    expect(tables.length).toBeGreaterThan(20)
    for (const table of tables) {
      const [head = '', ...rows] = table.split('\n').filter((line) => line.startsWith('|'))
      for (const row of rows) expect(cells(row), row).toBe(cells(head))
    }
  })

  it('shows of every fault a rule that is right, what clients meet and what others call it', () => {
    const shownExamples = [...page.matchAll(/```yaml\n([^]*?)```/g)].map((m) => parse(m[1]!))
    for (const { name, example, clientSees, otherTools } of FAULTS) {
      const text = `rules:\n${example?.trim().replace(/^/gm, '  ')}\n`
      expect(shownExamples, name).toContainEqual(parse(text))
      const [shown] = accepted(text).rules
      expect(shown!.faults.map(({ fault }) => fault)).toContain(name)
      for (const said of [clientSees, otherTools]) {
        expect(said, name).toMatch(/^[^\n]+\.$/)
        expect(page, name).toContain(said)
      }
    }
  })

  it('says what must be given and what is usual', () => {
    expect(page).toContain('| `name` | string | required |')
    expect(page).toContain('| `max` | duration | `"1h"` |')
    expect(page).toContain('\n# abort: ')
  })
})
