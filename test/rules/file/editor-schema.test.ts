import { Ajv } from 'ajv'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { FAULTS } from '../../../src/filters/index.ts'
import { parseRules } from '../../../src/rules/file/parse.ts'
import { rulesSchemaText } from '../../../src/rules/file/schema.ts'
import { rounds } from '../../support/rounds.ts'
import { CONFLICTS, INVALID_FAULTS, INVALID_FILES, INVALID_RULES } from '../invalid-files.ts'
import { FILE, mutated } from '../mutated-text.ts'
import { accepted, faultText, rejected, ruleText } from '../rules-text.ts'

interface FaultItems {
  readonly anyOf: readonly {
    readonly enum?: readonly string[]
    readonly properties?: object
    readonly defaultSnippets?: readonly { readonly label: string; readonly body: unknown }[]
  }[]
}

const schema = JSON.parse(rulesSchemaText()) as {
  definitions: { rule: { properties: { faults: { items: FaultItems } } } }
}
/** An editor: it knows no format of Squall's, and reports no keyword that it does not know. */
const inEditor = new Ajv({ strict: false, validateFormats: false }).compile(schema)
const names = FAULTS.map(({ name }) => name)

/** The value of a text, or undefined where editors report the text itself. */
function valueOf(text: string): unknown {
  try {
    return parse(text, { logLevel: 'error' })
  } catch {
    return undefined
  }
}

describe('the schema for editors', () => {
  const { anyOf } = schema.definitions.rule.properties.faults.items

  // Language servers list the names of an enum and snippets as values, and the keys of an object
  // elsewhere.
  it('completes every fault as an entry of the list and as a key', () => {
    const values = anyOf.flatMap((branch) => [
      ...(branch.enum ?? []),
      ...(branch.defaultSnippets ?? []).map(({ label }) => label),
    ])
    expect([...new Set(values)].sort()).toEqual([...names].sort())
    expect(anyOf.flatMap(({ properties = {} }) => Object.keys(properties))).toEqual(names)
  })

  it('completes faults with valid parameters', () => {
    for (const { label, body } of anyOf.flatMap((branch) => branch.defaultSnippets ?? [])) {
      const match = label === 'connection' ? 'match: { outbound: { port: 1 } }' : ''
      const [fault] = accepted(faultText(JSON.stringify(body)) + `    ${match}`).rules[0]!.faults
      expect(fault?.fault).toBe(label)
      // Editors read these as fields to fill in.
      expect(JSON.stringify(body)).not.toMatch(/[$]/)
    }
  })
})

/** Errors that the schema for editors leaves to `squall validate`, by the reason. */
const UNSAID: Readonly<Record<string, readonly string[]>> = {
  'editors report no tags of YAML': ['rules: !set []'],
  'a schema has no calendar and no units: limits of times, durations and sizes': [
    'from: 2026-02-30T00:00:00Z',
    'for: 0s',
    'for: 31d',
    'ramp: { to: 5%, over: 0s }',
    '{ delay: { fixed: 2h } }',
    '{ throttle: { rate: 0B } }',
  ],
  'a schema cannot parse regular expressions, versions, methods and paths': [
    'match: { tool: { regex: "(" } }',
    'match: { tool: { regex: "(?=a)" } }',
    'match: { protocolVersion: new }',
    'match: { http: { method: post } }',
    'match: { http: { path: api } }',
  ],
  'a schema cannot compare two values': [
    'burst: { rate: 90%, length: 2 }',
    'from: 2026-03-01T09:00:00Z\n    until: 2026-03-01T09:00:00Z',
    'match: { args: { /a: { gt: 2, lt: 1 } } }',
    'match: { headers: { x-a: b, X-A: c } }',
    '{ hang: { keepAlive: true } }',
  ],
  'a schema does not know which methods exist in which direction, and which names they have': [
    'match: { method: { regex: ^notifications/ } }',
    'match: { method: notifications/message }',
    'match: { direction: server }',
    'match: { kind: response }',
    'match: { kind: response, method: tools/call }',
    'match: { kind: response, direction: server, method: ping }',
    'match: { direction: server, method: tools/call }',
    'match: { any: [{ method: ping, direction: server }] }',
    'match: { tool: a, prompt: b }',
    'match: { method: ping, tool: a }',
    'match: { all: [{ http: { path: /a } }, { args: { /b: 1 } }] }',
  ],
  'presence and absence are mutually exclusive only where they are true': [
    'match: { baggage: { a: { absent: true, prefix: b } } }',
    'match: { headers: { x-a: { absent: true, prefix: b } } }',
    'match: { session: { present: true, absent: true } }',
  ],
}

describe('what squall validate rejects', () => {
  const texts = new Map([
    ...INVALID_FILES.map(([text]) => [text, text] as const),
    ...[...INVALID_RULES, ...CONFLICTS].map(([keys]) => [keys, ruleText(keys)] as const),
    ...INVALID_FAULTS.map(([fault]) => [fault, faultText(fault)] as const),
  ])

  it('is rejected by the schema for editors, but for errors in the meaning of values', () => {
    const unsaid: string[] = []
    for (const [written, text] of texts) {
      rejected(text)
      const value = valueOf(text)
      if (value !== undefined && inEditor(value)) unsaid.push(written)
    }
    expect(texts.size).toBeGreaterThan(100)
    expect(unsaid.sort()).toEqual(Object.values(UNSAID).flat().sort())
  })
})

describe('what squall validate accepts', () => {
  it('is accepted by the schema for editors, whatever was done to its text', () => {
    let count = 0
    fc.assert(
      fc.property(mutated, (text) => {
        if (!parseRules(text).ok) return
        count++
        // Empty documents may follow the first one.
        const value: unknown = parseAllDocuments(text)[0]?.toJS()
        expect(inEditor(value ?? {}), text).toBe(true)
      }),
      { numRuns: rounds(150, 10_000), examples: [[`${FILE}---\n`]] },
    )
    expect(count).toBeGreaterThan(0)
  })

  it('is accepted in the example of each fault', () => {
    for (const { name, example } of FAULTS) {
      expect(inEditor({ rules: parse(example) as unknown }), name).toBe(true)
    }
  })
})
