import { expect, it } from 'vitest'
import { passagesOf } from './passages.ts'
import { texts } from './project-texts.ts'

/** Returns the passages as `line kind: text`, without whole sources. */
function read(path: string, ...lines: readonly string[]): readonly string[] {
  return passagesOf(path, lines.join('\n'))
    .filter(({ kind }) => kind !== 'code')
    .map(({ kind, line, text }) => `${line} ${kind}: ${text.replaceAll(/\s+/g, ' ').trim()}`)
}

it('reads messages and comments of code, each as a whole', () => {
  const passages = read(
    'src/a.ts',
    '// A comment',
    '// of two lines.',
    "const one = 'one word', quote = /['`]{2}/, half = 4 / 2",
    'const two = `the file ${names.map((name) => `the key ${name}`).join()} is ${half}`',
    '/**',
    ' * A contract',
    ' * of two lines.',
    ' */',
    "throw new Error('a message ' +",
    "  'of two strings')",
  )
  expect(passages).toEqual([
    '1 prose: A comment of two lines.',
    '3 prose: one word',
    '4 prose: the key …',
    '4 prose: the file … is …',
    '5 prose: A contract of two lines.',
    '9 prose: a message of two strings',
  ])
})

it('tells descriptions of a schema from those of a tool', () => {
  const passages = read(
    'src/a.ts',
    "import * as Type from 'typebox'",
    "const tool = { name: 'a_tool', title: 'A tool', description: 'Does something.' }",
    "const key = Type.String({ description: 'When.' })",
    "const field = text(MAX, 'Since.')",
  )
  expect(passages.slice(1)).toEqual([
    '2 prose: Does something.',
    '3 description: When.',
    '4 description: Since.',
  ])
})

it('reads paragraphs, items and cells of pages, without blocks of code', () => {
  const passages = read(
    'docs/a.md',
    '## A heading',
    'A **wrapped',
    'paragraph**.',
    '- an item',
    '',
    '```sh',
    'a command',
    '```',
    '| a cell | another |',
  )
  expect(passages).toEqual([
    '1 prose: A heading',
    '2 prose: A wrapped paragraph.',
    '4 prose: an item',
    '9 prose: a cell',
    '9 prose: another |',
  ])
})

it('reads comments of values as descriptions, and folded texts as one', () => {
  const lines = [
    '# A comment',
    '# of two lines.',
    'key: >-',
    '  a folded',
    '  text',
    'other: value',
  ]
  expect(read('deploy/chart/values.yaml', ...lines)).toEqual([
    '1 description: A comment of two lines.',
    '3 prose: key: >- a folded text',
    '6 prose: other: value',
  ])
  expect(read('deploy/prometheus/alerts.yml', ...lines)[0]).toBe('1 prose: A comment of two lines.')
})

it.each([
  ['src/filters/delay.ts', true],
  ['src/admin/page/index.html', true],
  ['README.md', true],
  ['docs/reference/matrix.md', true],
  ['docs/reference/rules.md', false],
  ['deploy/rules.schema.json', false],
  ['scripts/dashboards/rules.mjs', true],
  ['deploy/grafana/rules.json', false],
  ['deploy/chart/files/grafana/rules.json', false],
  ['deploy/prometheus/alerts.yml', true],
  ['deploy/chart/files/prometheus/alerts.yml', false],
  ['deploy/chart/Chart.yaml', true],
  ['deploy/chart/values.yaml', true],
  ['deploy/chart/README.md', false],
  ['deploy/chart/templates/NOTES.txt', true],
  ['deploy/manifests/install.yaml', false],
])('reads a text once, where it is written: %s %s', (path, isRead) => {
  expect(passagesOf(path, texts.get(path)!).length > 0).toBe(isRead)
})
