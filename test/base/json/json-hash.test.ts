import { expect, it } from 'vitest'
import { canonicalJson } from '../../../src/base/values.ts'
import { jsonHash } from '../../../src/base/json/json-hash.ts'
import { Random } from '../../support/random.ts'

function anyValue(random: Random, depth = 0): unknown {
  const text = (): string => random.text(random.chance(0.02) ? 2000 : 3, 'ab"é\u{1f600}')
  switch (random.int(0, depth > 3 ? 4 : 6)) {
    case 0:
      return random.pick([null, true, false])
    case 1:
      return random.int(-3, 3)
    case 2:
      return random.next()
    case 3:
    case 4:
      return text()
    case 5:
      return random.list(3, () => anyValue(random, depth + 1))
    default:
      return Object.fromEntries(random.list(4, () => [text(), anyValue(random, depth + 1)]))
  }
}

it('is the same for values with one canonical form, and differs for others', () => {
  const random = new Random(11)
  const seen = new Map<number, string>()
  for (let i = 0; i < 20_000; i++) {
    const value = anyValue(random)
    const form = canonicalJson(value)
    const hash = jsonHash(value)
    if (jsonHash(JSON.parse(form)) !== hash || (seen.get(hash) ?? form) !== form) {
      expect.fail(`${form} and ${seen.get(hash)} have the hash ${hash}`)
    }
    seen.set(hash, form)
  }
  expect(new Set(seen.values()).size).toBe(seen.size)
})
