import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const EXPORTED =
  /^export (?:async )?(?:function|const) ((?:start|open|serve|listen|launch|spawn|run|with)[A-Z]\w*)/gm
const MAX_DOORS = 9
/** Behind a door, beside the functions that it loads when they are asked for. */
const LOADED_AT_ONCE = [
  'adminApi',
  'apiCluster',
  'experimentStage',
  'finishHere',
  'httpServer',
  'rawServer',
  'scriptedServer',
  'shopCluster',
  'sidecarProcess',
  'stagedWebhook',
]

const doors = new Map<string, string>()
for (const path of await readdir(`${ROOT}test`, { recursive: true })) {
  if (!/\.m?ts$/.test(path)) continue
  const text = await readFile(`${ROOT}test/${path}`, 'utf8')
  for (const [, name] of text.matchAll(EXPORTED)) doors.set(`${name} ${path}`, path)
}
const names = [...doors.keys()].map((door) => door.split(' ')[0]!)

it('tests start and open things by fewer than ten functions, each with a name of its own', () => {
  expect(names.length, `add an option to one of these: ${names.join(', ')}`).toBeLessThanOrEqual(
    MAX_DOORS,
  )
  expect(new Set(names).size).toBe(names.length)
})

it('every one of them is in test/support', () => {
  expect([...doors.values()].filter((path) => !path.startsWith('support/'))).toEqual([])
})

it('CONTRIBUTING.md describes every one in a line', async () => {
  const text = await readFile(`${ROOT}CONTRIBUTING.md`, 'utf8')
  const described = [...text.matchAll(/^ {2}- `(\w+)`/gm)].map(([, name]) => name)
  expect(new Set(described)).toEqual(new Set(names))
})

it('tests reach what is behind a door through that door', async () => {
  const behind = [...LOADED_AT_ONCE]
  for (const door of new Set(doors.values())) {
    const text = await readFile(`${ROOT}test/${door}`, 'utf8')
    for (const [, name] of text.matchAll(/\(await import\('[^']+'\)\)\.(\w+)\(/g))
      behind.push(name!)
  }
  expect(behind.length).toBeGreaterThan(20)
  const imported = new RegExp(`^import \\{[^}]*\\b(?:${behind.join('|')})\\b[^}]*\\} from`, 'm')
  const passing: string[] = []
  for (const path of await readdir(`${ROOT}test`, { recursive: true })) {
    if (!path.endsWith('.test.ts')) continue
    if (imported.test(await readFile(`${ROOT}test/${path}`, 'utf8'))) passing.push(path)
  }
  expect(passing).toEqual([])
})
