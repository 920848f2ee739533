import { policySchemaText, readPolicy } from '#rules'
import { describe, expect, it } from 'vitest'
import { Ajv } from 'ajv'
import { parse } from 'yaml'

const LEAST = 'targets: ["http://127.0.0.1:*/mcp"]\nenvironments: [staging]\n'
const inEditor = new Ajv({ strict: false, validateFormats: false }).compile(
  JSON.parse(policySchemaText()) as object,
)

describe('a policy', () => {
  it('needs targets and environments, and limits everything else by default', () => {
    expect(readPolicy(LEAST)).toEqual({
      ok: true,
      policy: expect.objectContaining({
        targets: ['http://127.0.0.1:*/mcp'],
        environments: ['staging'],
        require: ['abortOn', 'slo', 'steadyState'],
        firstStage: 10,
        maxPercent: 50,
        approval: 'ask',
        maxDuration: 1_800_000,
        perHour: 6,
      }) as unknown,
    })
    expect(inEditor(parse(LEAST))).toBe(true)
  })

  it.each([
    ['', [/1:1 .*targets/, /1:1 .*environments/]],
    [`${LEAST}firstStages: 5%\n`, [/3:1 unknown key "firstStages"; did you mean `firstStage`/]],
    [`${LEAST}perHour: 0\n`, [/3:10 /]],
    [`${LEAST}faults: [dely]\n`, [/3:10 .*delay/]],
    [`${LEAST}forbidden: ["pr od"]\n`, [/3:13 write words or globs/]],
    [`${LEAST}maxPercent: 101%\n`, [/3:13 /]],
    [`${LEAST}require: []\n`, [/3:10 /]],
    ['targets: [', [/1:/]],
    ['- a\n', [/1:1 /]],
  ])('%j is rejected with the position of each error', (text, wanted) => {
    const read = readPolicy(text)
    if (read.ok) throw new Error('accepted')
    const lines = read.problems.map(
      ({ line, column, message, hint }) => `${line}:${column} ${message}${hint ? `; ${hint}` : ''}`,
    )
    for (const pattern of wanted) expect(lines.join('\n')).toMatch(pattern)
  })
})
