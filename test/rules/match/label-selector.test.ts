import { describe, expect, it } from 'vitest'
import { parseLabelSelector } from '../../../src/rules/match/pod-match.ts'

const LABELS = { app: 'shop', tier: 'front', 'squall.dev/team': 'a' }

describe('a label selector', () => {
  it.each([
    ['app=shop', true],
    ['app==shop', true],
    ['app = bank', false],
    ['app!=bank', true],
    ['none!=bank', true],
    ['app=shop,tier=front', true],
    ['app=shop,tier=back', false],
    ['app in (bank, shop), tier', true],
    ['app notin (bank,shop)', false],
    ['none notin (bank)', true],
    ['!canary', true],
    ['!app', false],
    ['squall.dev/team=a', true],
    ['app=', false],
    ['constructor', false],
  ])('%s', (text, expected) => {
    expect(parseLabelSelector(text)?.(LABELS)).toBe(expected)
  })

  it.each(['', ',', 'app=shop,', 'app>3', 'app in shop', 'app in (a', 'a b', 'app=a b', '-a'])(
    'refuses %j',
    (text) => expect(parseLabelSelector(text)).toBeUndefined(),
  )

  it('refuses what is too long', () => {
    expect(parseLabelSelector(`a=${'b'.repeat(3_000)}`)).toBeUndefined()
  })
})
