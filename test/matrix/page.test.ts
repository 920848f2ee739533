import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { measureMissing } from './measure.ts'
import { expectedOf, readMeasured } from './measured.ts'
import { matrixPage } from './page.ts'
import { clientsOf, SETTINGS, type SettingId } from './settings.ts'
import { type Observed, titleOf, type Variant } from './variant.ts'
import { predictionOf, VARIANTS } from './variants.ts'

const file = fileURLToPath(new URL('../../docs/reference/matrix.md', import.meta.url))
const STALE = 'run npm run generate'

if (process.env['UPDATE'] !== undefined) await measureMissing()

/** All that was measured with a client of the TypeScript SDKs. */
const OBSERVED = VARIANTS.flatMap((variant) =>
  SETTINGS.flatMap((setting) =>
    clientsOf(setting).map((client) => ({
      variant,
      setting: setting.id,
      name: `${titleOf(variant)}, ${setting.title}, ${client}`,
      observed: expectedOf(variant, setting.id, client),
    })),
  ),
)

test('each fault is measured in every setting, and nothing else is', () => {
  const missing = OBSERVED.filter(({ observed }) => observed === undefined)
  expect(
    missing.map(({ name }) => name),
    STALE,
  ).toEqual([])
  expect(Object.keys(readMeasured()).toSorted(), STALE).toEqual(VARIANTS.map(titleOf).toSorted())
})

test('the counts are those of a fault that acts where explain says, before a healthy server', () => {
  const wrong = OBSERVED.flatMap(({ variant, setting, name, observed }) =>
    observed === undefined
      ? []
      : faultsIn(variant, setting, observed).map((what) => `${name}: ${what}`),
  )
  expect(wrong).toEqual([])
})

/** Returns what contradicts the prediction, or itself. */
function faultsIn(
  variant: Variant,
  setting: SettingId,
  { says, ran, counted, rule }: Observed,
): readonly string[] {
  const { acts, ends } = predictionOf(variant, setting)
  const isInjected = rule.startsWith('injected')
  const isCall = variant.method === undefined
  const isOk = counted.startsWith('ok/')
  const rules: readonly (readonly [string, boolean])[] = [
    ['injected although it cannot act', acts !== 'no' || !isInjected],
    ['not injected although it acts', acts !== 'yes' || isInjected],
    ['another call without a fault', isInjected || (says === 'ok' && counted !== 'ok/injected')],
    ['the upstream got the call', !isCall || ends !== true || ran === 0],
    ['the upstream did not get the call', !isCall || ends === true || ran > 0],
    ['an error of a healthy server', !isCall || isOk || !counted.includes('real')],
    [
      'a tool error that is none',
      !isCall || counted.includes('tool_error') === (says === 'tool error'),
    ],
    ['a timeout that is none', !counted.includes('timeout') || says === 'timeout'],
  ]
  return rules.filter(([, isSo]) => !isSo).map(([what]) => what)
}

test('the page is as measured', async () => {
  const page = matrixPage(VARIANTS)
  if (process.env['UPDATE'] !== undefined) await writeFile(file, page)
  const kept = await readFile(file, 'utf8').catch(() => '')
  expect(kept, `docs/reference/matrix.md is stale: ${STALE}`).toBe(page)
})
