import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { validateCommand } from '../../../src/cli/rules/validate.ts'
import { FAULTS } from '../../../src/filters/index.ts'
import { accepted, faultText, rejected, ruleText } from '../../rules/rules-text.ts'

let directory = ''
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-suggested-form-'))
})
afterAll(() => rm(directory, { recursive: true }))

/** The lines of `squall validate` for a file, without its name. */
async function validate(text: string): Promise<{ code: number; lines: readonly string[] }> {
  const file = join(directory, 'rules.yaml')
  await writeFile(file, text)
  let output = ''
  const code = await validateCommand([file], { format: 'text' }, (part) => void (output += part))
  // Below each problem stand its line and a caret.
  const lines = output.split('\n').filter((line) => line.startsWith(file))
  return { code, lines: lines.map((line) => line.slice(`${file}:`.length)) }
}

const DELAY = '`- delay: { fixed: 2s, jitter: 500ms }`'
const AN_ERROR =
  'write `abort: { status: 503 }`, `abort: { toolError: "…" }` or `abort: { rpcError: { code: -32603 } }`'
const UNDER_RULES =
  'write the list of rules under `rules:`, such as `rules: [{ name: slow-search, faults: [delay: { fixed: 2s }] }]`'

describe('an error of the rules file names its place and the right form', () => {
  it.each([
    [faultText('{ delay: 2s }'), '3:25', 'write `- delay: { fixed: 2s }`'],
    [faultText('{ delay: 2 }'), '3:25', `for example ${DELAY}`],
    [faultText('{ delay: }'), '3:18', `this key has no value: for example ${DELAY}`],
    [faultText('delay'), '3:16', `for example ${DELAY}`],
    [faultText('{ abort: 500 }'), '3:25', 'write `- abort: { status: 500 }`'],
    [faultText('{ abort: no db }'), '3:25', 'write `- abort: { toolError: no db }`'],
    [faultText('{ reset: stream }'), '3:25', 'write `- reset: { at: stream }`'],
    [faultText('{ session: expire }'), '3:27', 'for example `- session: { rejectInitialize:'],
    [faultText('{ delay: { fixed: 500 } }'), '3:34', 'add the unit: `500ms` or `500s`'],
    [faultText('{ truncate: { after: 5 } }'), '3:37', 'write `after: { bytes: 5 }`'],
    [faultText('{ truncate: { after: { bytes: -1 } } }'), '3:46', 'must be a size such as 512B'],
    [faultText('{ error: { code: 500 } }'), '3:18', AN_ERROR],
    [faultText('error'), '3:16', AN_ERROR],
    ['rules:\n  - name: a\n    faults: delay\n', '3:13', 'for example `faults: [delay: {'],
    ['rules:\n  - name: a\n    faults: hang\n', '3:13', 'write `faults: [ hang ]`'],
    [
      'rules:\n  - name: a\n    faults: { delay: { fixed: 2s } }\n',
      '3:13',
      'write each entry of the list with a hyphen: `- delay: …`',
    ],
    ['rules:\n  - name: a\n', '2:5', '`faults` is missing; for example `faults: [ { delay:'],
    ['rules: slow\n', '1:8', 'start each rule with a hyphen and its name: `- name:'],
    ['rules: { slow: {} }\n', '1:8', 'start each rule with a hyphen and its name: `- name:'],
    ['- name: a\n  faults: [hang]\n', '1:1', UNDER_RULES],
    ['slow-search\n', '1:1', UNDER_RULES],
    [ruleText('match: search'), '4:12', 'write `match: { tool: search }`'],
    [ruleText('match: [search]'), '4:12', 'for example `match: { tool: search_* }`'],
    [ruleText('match: { http: /api/* }'), '4:20', 'write `http: { path: /api/* }`'],
    [ruleText('match: { http: POST }'), '4:20', 'write `http: { method: POST }`'],
    [ruleText('match: { tool: *x }'), '4:20', 'quote a string that begins with `*`: "*x"'],
    [ruleText('match: { tool: *_docs }'), '4:20', 'quote a string that begins with `*`: "*_docs"'],
    [ruleText('match:\n      tool: *'), '5:13', 'quote a string that begins with `*`: `"*"`'],
    [ruleText('burst: 5%'), '4:12', 'for example `burst: { rate: 5%, length: 10 }`'],
    [ruleText('times: "3"'), '4:12', 'write it without quotes: `3`'],
    [ruleText('for: 5'), '4:10', 'add the unit: `5ms` or `5s`'],
    [ruleText('disabled: true'), '4:5', '`enabled: false`'],
  ])('in %j', async (text, place, form) => {
    const { code, lines } = await validate(text)
    expect(code).toBe(1)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(new RegExp(`^${place}: `))
    expect(lines[0]).toContain(form)
  })

  it.each(FAULTS.map(({ name }) => name))('which is valid, for %s', (name) => {
    for (const value of ['2s', '"x"', '500', 'true', '[]', '4KiB', 'stream', '']) {
      for (const { hint = '', path } of rejected(faultText(`{ ${name}: ${value} }`))) {
        if (!path.includes(name)) continue
        const [, form] = /`(- .*)`$/.exec(hint) ?? []
        const match = name === 'connection' ? 'match: { outbound: { port: 1 } }' : 'percent: 1'
        const [rule] = accepted(`rules:\n- name: a\n  ${match}\n  faults:\n  ${form}\n`).rules
        expect(rule?.faults[0]?.fault, hint).toBe(name)
      }
    }
  })

  it('and does not repeat a long value', async () => {
    const { lines } = await validate(faultText(`{ abort: ${'x'.repeat(5000)} }`))
    expect(lines[0]).toContain('for example `- abort: { toolError: "connection to db-7 lost" }`')
    expect(lines[0]!.length).toBeLessThan(300)
  })
})

describe('a value without a unit', () => {
  it('is a number of bytes where a size is meant', () => {
    const written = '{ truncate: { after: { bytes: 40 } } }, { throttle: { rate: 4096 } }'
    expect(accepted(faultText(written)).rules[0]!.faults).toMatchObject([
      { config: { after: { bytes: 40 } } },
      { config: { rate: 4096 } },
    ])
  })

  it('is a duration where it is 0', () => {
    const written = '{ delay: { fixed: 0, jitter: 0 } }, { amplify: { copies: 2, spacing: 0 } }'
    expect(accepted(faultText(written)).rules[0]!.faults).toMatchObject([
      { config: { fixed: 0, jitter: 0 } },
      { config: { spacing: 0 } },
    ])
    expect(rejected(ruleText('for: 0'))).toMatchObject([{ code: 'out_of_range' }])
  })
})
