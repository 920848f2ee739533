import { beforeAll, describe, expect, test } from 'vitest'
import { runCells, type Cell, type Kind } from './run-cells.ts'
import { sdkKind } from './sdk-kind.ts'
import { clientsOf, SETTINGS, type ClientId, type Setting } from './settings.ts'
import { titleOf } from './variant.ts'
import { VARIANTS } from './variants/index.ts'

/** Measures all that a client of the TypeScript SDKs meets. */
export function testSdkMatrix(client: ClientId): void {
  const settings = SETTINGS.filter((setting) => clientsOf(setting).includes(client))
  testMatrix(sdkKind(client), settings)
}

/** Measures all that a client meets, and compares it with what is expected and with real failures. */
export function testMatrix(kind: Kind, settings: readonly Setting[]): void {
  describe.each(settings)('$title', (setting) => {
    let cells: readonly Cell[] = []
    beforeAll(async () => {
      cells = await runCells(setting, kind, VARIANTS)
    }, 120_000)

    test('the client reports, the app runs and Squall counts what is expected', () => {
      const expected = VARIANTS.map((one) => [titleOf(one), kind.expected(one, setting.id)])
      const met = cells.map(({ variant, injected }) => [titleOf(variant), injected])
      expect(Object.fromEntries(met)).toEqual(Object.fromEntries(expected))
    })

    test('a server that really fails so is reported in the same words', () => {
      const compared = cells.filter(({ real }) => real !== undefined)
      expect(compared.length).toBeGreaterThan(15)
      const injected = compared.map(({ variant, injected: { says, next } }) => [
        titleOf(variant),
        { says, next },
      ])
      const real = compared.map(({ variant, real: met }) => [titleOf(variant), met])
      expect(Object.fromEntries(injected)).toEqual(Object.fromEntries(real))
    })
  })
}
