import { expect, it } from 'vitest'
import { importFaults } from '../../../src/rules/import/import.ts'
import { imported, notImported } from './imported.ts'

const ABORT = 'fault: { abort: { httpStatus: 503, percentage: { value: 10 } } }'

function service(name: string): string {
  return `kind: VirtualService\nmetadata: { name: ${name} }\nspec: { hosts: [a], http: [{ ${ABORT} }] }\n`
}

const CHAOS = `kind: HTTPChaos
metadata: { name: storm }
spec: { target: Request, abort: true, mode: all, selector: {} }
`

it('converts each of several Kubernetes objects, and places notes in their documents', () => {
  const { file, notes } = imported(`---\n${service('one')}---\n---\n${service('two')}---\n`)
  expect(file.rules.map(({ name }) => name)).toEqual(['one-1-abort', 'two-1-abort'])
  expect(notes).toEqual(['4:9 left_out items[0].spec.hosts', '9:9 left_out items[1].spec.hosts'])
})

it('names objects of another format, in documents and in a list', () => {
  const documents = `${service('one')}---\nkind: Deployment\n---\n${CHAOS}`
  const other = { kind: 'left_out', path: 'items[2]', line: 7 }
  const result = importFaults(documents)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  expect(result).toMatchObject({ format: 'istio', rules: 1 })
  expect(result.notes.at(-1)).toMatchObject(other)
  expect(result.notes.at(-1)!.message).toContain('convert it with --from chaos-mesh')
  expect(importFaults(documents, 'chaos-mesh')).toMatchObject({ format: 'chaos-mesh', rules: 1 })
  const items = [service('one'), CHAOS].map(
    (text) => `- ${text.trimEnd().replaceAll('\n', '\n  ')}`,
  )
  expect(imported(`kind: List\nitems:\n${items.join('\n')}`).notes.at(-1)).toContain('items[1]')
})

it('names the objects of Chaos Mesh that have no conversion, also around an HTTPChaos', () => {
  const other = (kind: string): string =>
    `---\napiVersion: chaos-mesh.org/v1alpha1\nkind: ${kind}\n`
  const pod = '---\napiVersion: v1\nkind: Pod\n'
  const result = importFaults(`${CHAOS}${pod}${other('NetworkChaos')}${other('Schedule')}`)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  expect(result.notes.map(({ kind, path, message }) => `${kind} ${path} ${message}`)).toEqual([
    'left_out items[2] is "NetworkChaos"; only HTTPChaos is converted',
    'left_out items[3] is "Schedule"; only HTTPChaos is converted',
  ])
})

const ALIASES = `kind: VirtualService
a: &a [${'x, '.repeat(100)}x]
b: &b [${'*a, '.repeat(100)}*a]
c: [${'*b, '.repeat(19)}*b]
`

it.each([
  ['documents that are no objects', `${service('one')}---\nfaults: []`, 'several_documents', 5],
  ['a syntax error in a later document', `${service('one')}---\nkind: [`, 'syntax', 5],
  ['a key twice in a later document', `${service('one')}---\nkind: A\nkind: B`, 'duplicate_key', 6],
  ['too many documents', '---\nkind: A\n'.repeat(101), 'several_documents', 202],
  ['aliases of all documents together', `${ALIASES}---\n${ALIASES}`, 'too_many', 6],
  [
    'nesting in a later document',
    `kind: A\n---\nkind: ${'['.repeat(60)}${']'.repeat(60)}`,
    'too_deep',
    3,
  ],
])('rejects %s with its line', (_name, text, code, line) => {
  expect(notImported(text)[0]).toMatchObject({ code, line })
})
