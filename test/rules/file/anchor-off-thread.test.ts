import { expect, test } from 'vitest'
import { anchorTexts, anchorWherever } from '../../../src/rules/file/applied-text.ts'
import { MAX_BETWEEN_CALLS } from '../../../src/rules/file/rules-parser.ts'
import { failing } from '../../live/rules-directory.ts'

/** A thread can only run what was compiled, as the program does. */
const BUILT = new URL('../../../dist/rules/file/parse-worker.js', import.meta.url)

const never = new AbortController().signal
const applying = { now: Date.parse('2026-01-01T00:00:00Z') }
const large = `# ${'x'.repeat(MAX_BETWEEN_CALLS)}\n${failing('one')}`
const texts = [large, failing('two'), 'rules: []\n', 'rules: [{ nme: x }]\n'].map((text) => ({
  text,
  applying,
}))

test('large texts are anchored in a thread, as they would be here', async () => {
  const anchored = await anchorWherever(texts, never, BUILT)
  expect(anchored).toEqual(anchorTexts({ kind: 'anchor', texts }))
  expect(anchored?.[0]).toContain('appliedAt: 2026-01-01T00:00:00Z\nrules:')
})

test('it is given up when the time has passed', async () => {
  expect(await anchorWherever(texts, AbortSignal.abort(), BUILT)).toBeUndefined()
  const late = new AbortController()
  const response = anchorWherever(texts, late.signal, BUILT)
  late.abort()
  expect(await response).toBeUndefined()
})
