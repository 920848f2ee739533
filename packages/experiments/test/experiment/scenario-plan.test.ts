import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readPlan } from '../../src/experiment/read-plan.ts'
import { startProgram } from '../../../../test/support/commands.ts'

const EXAMPLE = readFileSync(
  new URL('../../../../examples/import/chaos-monkey.json', import.meta.url),
  'utf8',
)
const directory = mkdtempSync(join(tmpdir(), 'squall-scenario-'))
afterAll(() => rmSync(directory, { recursive: true }))

function convert(text: string, ...flags: string[]) {
  const path = join(directory, 'scenario.json')
  writeFileSync(path, text)
  return startProgram(['import', path, '--as', 'experiment', ...flags], {}, { here: true })
}

const scenario = (keys: object): string =>
  JSON.stringify({
    name: 's',
    faults: [{ target: 'echo', config: { type: 'latency', delayMs: 40 } }],
    ...keys,
  })

test.each([
  ['the example', EXAMPLE],
  ['a name that no plan may have', scenario({ name: '- \n"x": ü', assertions: ['a'] })],
  ['snake case', scenario({ expected_behavior: ['a', 'b'] })],
  ['values that are no texts', scenario({ assertions: [{ a: [1] }, null, 3] })],
  ['texts that would end a comment', scenario({ assertions: ['a\nslo: { x: 1 }\r# b\u2028c: d'] })],
  ['a limit', scenario({ assertions: ['p95 is below 2 s'] })],
  ['more texts than a plan names', scenario({ assertions: Array(500).fill('x') })],
])('%s becomes a plan that the reader of plans accepts', async (_, text) => {
  const { code, stdout } = await convert(text)
  expect(code).toBe(0)
  const source = { file: 'plan.yaml', directory: '/', readText: () => Promise.reject(new Error()) }
  expect(await readPlan(stdout, source)).toMatchObject({ ok: true, rejections: [] })
})

test('names each text that it does not understand', async () => {
  const { stdout, stderr } = await convert(EXAMPLE)
  expect(stdout).toContain('# TODO expectedBehavior: The agent uses its cache.\n')
  expect(stdout).toContain('# TODO assertions: no task takes longer than 10 s\n')
  expect(stderr).not.toContain('rules assert nothing')
})

test.each([
  ['p95 is below 2 s', 'slo: { p95: 2s }'],
  ['The error rate stays under 5%', 'slo: { errors: 5% }'],
  ['success >= 99%', 'slo: { success: 99% }'],
])('makes a gate of %j', async (text, gate) => {
  const { stdout } = await convert(scenario({ assertions: [text] }))
  expect(stdout).toContain(`\n${gate}\n`)
  expect(stdout).not.toContain('# TODO assertions')
})

test.each(['success is below 5%', 'errors above 5%', 'p95 below 5%', 'p95 below 2 s at night'])(
  'makes no gate of %j',
  async (text) => {
    const { stdout } = await convert(scenario({ assertions: [text] }))
    expect(stdout).not.toContain('slo:')
    expect(stdout).toContain(`# TODO assertions: ${text}`)
  },
)

test.each([scenario({}), 'seed: 1\nfaults: [{ type: latency }]\n'])(
  'rejects a file without expectations',
  async (text) => {
    const { code, stdout, stderr } = await convert(text)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('must contain expectedBehavior or assertions')
  },
)
