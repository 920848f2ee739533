import { expect, it } from 'vitest'
import { importFaults } from '../../../src/rules/import/import.ts'

const MANIFEST = 'apiVersion: v1\nkind: Pod\n'

it.each([
  ['that begin with ---', '---\na: 1\n'],
  ['that end with ...', 'a: 1\n...\n'],
])('rejects 60,000 documents %s before they are parsed', (_, document) => {
  const text = document.repeat(60_000)
  const before = process.cpuUsage()
  const imported = importFaults(text)
  // The time of this thread and not of the clock: other processes may be busy.
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(400)
  expect(imported).toMatchObject({
    ok: false,
    problems: [{ code: 'several_documents', message: 'a file must have at most 100 documents' }],
  })
})

it('takes as many documents as are allowed, each with both markers', () => {
  const text = `---\n${MANIFEST}...\n`.repeat(100)
  const imported = importFaults(text)
  expect(JSON.stringify(imported)).not.toContain('several_documents')
  const more = importFaults(`${text}---\n${MANIFEST}`)
  expect(more).toMatchObject({ problems: [{ message: 'a file must have at most 100 documents' }] })
})

it('reads a marker within a line, or with other characters behind, as text', () => {
  const rules = `rules: []\n# ${'--- '.repeat(300)}\n${'#---\n'.repeat(300)}`
  expect(JSON.stringify(importFaults(rules))).not.toContain('several_documents')
})
