import { expect, it } from 'vitest'
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
