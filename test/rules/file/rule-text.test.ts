import { expect, it } from 'vitest'
import { faultText } from '../../../src/rules/file/rule-text.ts'
import { parseRules } from '../../../src/rules/file/parse.ts'
import { FORMS } from '../../faults/forms.ts'
import { foundTexts } from '../../../src/rules/file/rules-file.ts'
import { parseFound } from '../../../src/rules/file/rules-parser.ts'

function textsOf(...files: readonly string[]): readonly string[] | undefined {
  const texts = files.map((text, i) => ({ file: `${i}.yaml`, bytes: Buffer.from(text) }))
  const version = parseFound(foundTexts(texts, files.length > 1))
  return version.kind === 'rules' ? version.asWritten : undefined
}

it('keeps each rule as written, on one line and without its name, in the order of the files', () => {
  const first = `rules:
  - name: slow
    match:
      tool: ['search_*', '*']
      args: { /query: { regex: "a b" } }
    percent: 20%
    faults:
      - delay: { fixed: 40ms, jitter: 10ms }
      - hang
`
  const second = `rules: [{ name: b, first: 3, faults: [abort: { status: 503, body: "true" }] }]`
  expect(textsOf(first, second)).toEqual([
    'match: { tool: [search_*, "*"], args: { /query: { regex: "a b" } } }, percent: 20%, faults: [delay: { fixed: 40ms, jitter: 10ms }, hang]',
    'first: 3, faults: [abort: { status: 503, body: "true" }]',
  ])
})

it('cuts a long rule', () => {
  const [text] = textsOf(
    `rules: [{ name: a, match: { tool: [${Array.from({ length: 60 }, (_, i) => `a-tool-${i}`).join(', ')}] }, faults: [hang] }]`,
  )!
  expect(text).toMatch(/^match: \{ tool: \[a-tool-0, .*…$/)
  expect(text!.length).toBe(401)
})

it('leaves out what a fault does by default', () => {
  expect(faultText('delay', { fixed: 1500, max: 3_600_000, at: 'request' })).toBe(
    'delay: { fixed: 1.5s }',
  )
})

it.each(FORMS)(
  'writes a fault as a rule that means the same: $use.fault $use.config',
  ({ use }) => {
    const text = faultText(use.fault, use.config)
    const read = parseRules(`rules: [{ name: a, faults: [{ ${text} }] }]`)
    expect(read.ok && read.file.rules[0]!.faults).toEqual([use])
  },
)
