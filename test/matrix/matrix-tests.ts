import { beforeAll, describe, expect, test } from 'vitest'
import type { Cell, Kind } from './run-cells.ts'
import { sdkKind } from './sdk-kind.ts'
import { clientsOf, SETTINGS, type ClientId, type Setting } from './settings.ts'
import { titleOf, verdictsOn } from './variant.ts'
import { VARIANTS } from './variants.ts'
import { measureCells } from './run-cells.ts'

/** Measures what a client of the TypeScript SDKs meets: by all variants, or by one in so many. */
export function testSdkMatrix(client: ClientId, oneIn = 1): void {
  const settings = SETTINGS.filter((setting) => clientsOf(setting).includes(client))
  testMatrix(sdkKind(client), settings, oneIn)
}

/**
 * Measures what a client meets, and compares it with what is expected and with real failures. Each
 * setting has other variants, where it does not have all.
 */
export function testMatrix(kind: Kind, settings: readonly Setting[], oneIn = 1): void {
  describe.each(settings)('$title', (setting) => {
    const first = settings.indexOf(setting)
    const variants = VARIANTS.filter((_, index) => (index + first) % oneIn === 0)
    let cells: readonly Cell[] = []
    beforeAll(async () => {
      cells = await measureCells(setting, kind, variants)
    }, 120_000)

    test('the client reports, the upstream runs and Squall counts what is expected', () => {
      const expected = variants.map((one) => [titleOf(one), kind.expected(one, setting.id)])
      const met = cells.map(({ variant, injected }) => [titleOf(variant), injected])
      expect(Object.fromEntries(met)).toEqual(Object.fromEntries(expected))
    })

    test('the verdicts are what the source of the client does', () => {
      const known = cells.filter(({ variant }) => kind.expected(variant, setting.id) !== undefined)
      const expected = known.map(({ variant, injected }) => [
        titleOf(variant),
        verdictsOn(variant, injected, kind.listsAfterResult).map((verdict) =>
          verdict.includes(' or ') ? expect.toBeOneOf(verdict.split(' or ')) : verdict,
        ),
      ])
      const seen = known.map(({ variant, verdicts }) => [titleOf(variant), verdicts])
      expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(expected))
    })

    test('a server that really fails so is reported in the same words', () => {
      const compared = cells.filter(({ real }) => real !== undefined)
      expect(compared.length).toBeGreaterThanOrEqual(Math.floor(15 / oneIn))
      const injected = compared.map(({ variant, injected: { says, next } }) => [
        titleOf(variant),
        { says, next },
      ])
      const real = compared.map(({ variant, real: met }) => [titleOf(variant), met])
      expect(Object.fromEntries(injected)).toEqual(Object.fromEntries(real))
    })
  })
}
