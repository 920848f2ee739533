import { describe, expect, it } from 'vitest'
import { type Reader, readText, readValue } from '../../src/base/text/written-values.ts'
import { formsOf } from '../../src/listener/falsified/value-forms.ts'
import { Occurred, WatchedValues } from '../../src/listener/falsified/watched-values.ts'
import { Random } from '../support/random.ts'

const small = { kind: 'number', falseText: '0.011996', trueText: '0.0145' } as const
const price = { kind: 'number', falseText: '4187.23', trueText: '3987.84' } as const

function watching(): WatchedValues<string> {
  const values = new WatchedValues<string>()
  for (const form of formsOf(price)!.falsified) values.addNumber(form, 'price')
  for (const form of formsOf(small)!.falsified) values.addNumber(form, 'small')
  values.addNumber('123456785e-1', 'grouped')
  values.addText('Anna Müller, 12 Main St.', 'text')
  values.addText('ORD-41872', 'id')
  return values
}

function foundIn(value: unknown): ReadonlySet<string> | undefined {
  const values = watching()
  readValue(value, values)
  return values.take()
}

describe('finds a false value', () => {
  it.each([
    [4187.23, 'price'],
    [-4187.23, 'price'],
    [{ a: [1, 'pay €4,187.23 now'] }, 'price'],
    ['4.187,23 €', 'price'],
    ['4 187,23', 'price'],
    ['4\u00a0187,23', 'price'],
    ['EUR4187.23', 'price'],
    ['4187.23USD', 'price'],
    ['4187.2300', 'price'],
    ['about 4190', 'price'],
    [4187, 'price'],
    ['{"amount":4187.23}', 'price'],
    ['[4187.23,12]', 'price'],
    ['{"note":"pay\\n4187.23"}', 'price'],
    ['{"note":"\\u20ac4187.23"}', 'price'],
    ['at 0.012 each', 'small'],
    [{ rate: 0.012 }, 'small'],
    ['1,23,45,678.50', 'grouped'],
    ['order anna müller  12 main st!', 'text'],
    [{ 'ord-41872': true }, 'id'],
    ['{"note":"for\\nord-41872"}', 'id'],
    ['{"note":"\\u00a0ORD-41872"}', 'id'],
    ['c:\\north\\ord-41872', 'id'],
  ])('in %j', (value, owner) => {
    expect([...(foundIn(value) ?? [])]).toEqual([owner])
  })

  it.each([
    ['a-41872-3'],
    ['41.8723'],
    ['x4187.23'],
    ['2026-4187'],
    ['4187-01-02'],
    ['4187k'],
    [419_000],
    [3987.84],
    ['anna müller 12 main street'],
    ['ord-418723'],
    ['c4187f23'],
    ['https://example.com/4187?page=4190x'],
  ])('and none in %j', (value) => {
    expect(foundIn(value)).toBeUndefined()
  })
})

it.each([
  ['4,187.23', ['418723e-2', '4e0', '18723e-2']],
  ['4187,23', ['418723e-2', '4187e0', '23e0']],
  ['1,23,456.78', ['12345678e-2', '1e0', '23e0', '45678e-2']],
  ['4.187', ['4187e0', '4187e-3']],
  ['10.0.0.1', []],
])('reads %s', (token, forms) => {
  const found = new Set<string>()
  readText(token, { wantsWords: false, words: () => undefined, number: (form) => found.add(form) })
  expect([...found].sort()).toEqual(forms.toSorted())
})

it.each([
  ['a short number', { kind: 'number', falseText: '41.87', trueText: '39.87' }],
  ['a short text', { kind: 'text', falseText: 'Anna', trueText: 'Bert' }],
  ['the true value', { kind: 'number', falseText: '4187.230', trueText: '4187.23' }],
  ['no digits', { kind: 'number', falseText: 'none', trueText: '1' }],
] as const)('recognizes nothing in %s', (_, value) => {
  expect(formsOf(value)).toBeUndefined()
})

it('rounds only to what the true value does not round to, and to no year', () => {
  const forms = (falseText: string, trueText: string) =>
    formsOf({ kind: 'number', falseText, trueText })!.falsified.slice(1)
  expect(forms('4187.23', '4187.94')).toEqual(['4187e0', '41872e-1'])
  expect(forms('2031.44', '1931.44')).toEqual(['20314e-1'])
  expect(forms('512.38', '488.01')).toEqual(['5124e-1'])
})

/** Texts of pieces in which numbers and words meet what stands between them. */
function randomText(random: Random): string {
  const piece = random.pick([
    () => random.pick(['4187.23', '4,187.23', '4.187,23', '4187', '41872300', '0.0041872', '12']),
    () => random.pick(['0.012', '1,23,45,678.50', '1.234.567.890,12', '1 234 567.8', '12000']),
    () => random.pick(['anna müller', 'Anna Müller, 12 Main St', 'ORD-41872', 'ord', 'EUR', 'x']),
    () =>
      random.pick(['\\n', '\\u20ac', '\\u0020', '\\\\', '\\', '\u00a0', '’', '٤', 'ﬁ', '²', '€']),
    () => random.pick([' ', ' ', ',', '.', '-', '/', ': ', '"', '_', '\n']),
  ])
  return piece()
}

it('glances at a text without missing what is in it', () => {
  const random = new Random(11)
  for (let n = 0; n < 20_000; n++) {
    const text = Array.from({ length: random.int(1, 12) }, () => randomText(random)).join('')
    const values = watching()
    const unseen: Reader = {
      wantsWords: true,
      words: (words) => values.words(words),
      number: (form) => values.number(form),
    }
    readText(text, unseen)
    const inFull = values.take()
    readText(text, values)
    expect([text, values.take()]).toEqual([text, inFull])
  }
})

it('remembers each number of a text as having occurred', () => {
  const random = new Random(12)
  for (let n = 0; n < 5_000; n++) {
    const text = Array.from({ length: random.int(1, 6) }, () => randomText(random)).join('')
    const forms: string[] = []
    const words = () => undefined
    readText(text, { wantsWords: false, words, number: (form) => forms.push(form) })
    const values = new WatchedValues<string>()
    values.occurred = new Occurred()
    readText(text, values)
    const missed = forms.filter((form) => values.occurred?.hasNumber(form) === false)
    expect([text, missed]).toEqual([text, []])
  }
})
