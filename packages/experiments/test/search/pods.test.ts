// part: slow-nightly
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SearchResult } from '../../src/search/search-result.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { type Changes, podsStage, type PodsStage } from '../experiment/pods-stage.ts'

let stage: PodsStage

beforeEach(async () => {
  stage = await podsStage()
})

afterEach(() => stage.close())

async function search(changes: Changes, ...range: readonly string[]): Promise<string> {
  const { directory, kubeconfig } = stage.shop
  const plan = join(directory, 'plan.yaml')
  await writeFile(plan, stage.text(changes))
  const places = ['--experiments', join(directory, 'experiments'), '--state-dir', directory]
  const line = ['experiment', 'search', plan, ...range, '--json', '--kubeconfig', kubeconfig]
  return (await startProgram([...line, ...places], {}, { here: true })).stdout
}

test('a limit is searched in pods, and their ConfigMap is restored after each run', async () => {
  const before = stage.configMap()
  const range = ['--vary', 'percent=2%..25%', '--until', 'errors>10%', '--max-runs', '2']
  const result = JSON.parse(await search({}, ...range)) as SearchResult
  expect(result.runs).toHaveLength(2)
  expect(result.end.code).toBe('BUDGET')
  expect(result.points[0]).toMatchObject({ magnitude: 2, decision: 'passed' })
  const strong = ['--vary', 'percent=20%..25%', '--until', 'errors>2%']
  const failing = JSON.parse(await search({}, ...strong)) as SearchResult
  expect(failing).toMatchObject({ where: 'below', end: { code: 'FOUND' } })
  expect(stage.configMap()).toEqual(before)
})

test('a boundary is searched in pods, and their ConfigMap is restored', async () => {
  const before = stage.configMap()
  const faults = [{ delay: { fixed: '1ms' } }, { abort: { toolError: 'no' } }]
  const rules = [{ name: 'broken', match: { tool: 'work' }, faults }]
  const pair = ['--vary', 'percent=20%..25%', '--vary', 'delay=1ms..9ms', '--until', 'errors>2%']
  const result = JSON.parse(await search({ rules }, ...pair)) as SearchResult
  expect(result).toMatchObject({ where: 'below', end: { code: 'FOUND' } })
  expect(result.boundary!.map(({ where }) => where)).toEqual(result.boundary!.map(() => 'below'))
  expect(stage.configMap()).toEqual(before)
})

test('a plan with shares of pods is rejected', async () => {
  const range = ['--vary', 'percent=2%..25%', '--until', 'errors>10%']
  const found = await search({ stages: undefined, pods: ['20%'] }, ...range)
  const { rejected } = JSON.parse(found) as { rejected: { code: string }[] }
  expect(rejected.map(({ code }) => code)).toContain('NOT_SEARCHABLE')
})
