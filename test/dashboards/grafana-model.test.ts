import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { dashboards } from './shipped.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
let directory: string

beforeAll(async () => {
  await mkdir(join(ROOT, 'build'), { recursive: true })
  directory = await mkdtemp(join(ROOT, 'build/grafana-model-'))
})

afterAll(() => rm(directory, { recursive: true, force: true }))

/** Returns the compiler's errors about values that should be dashboards; empty if all are valid. */
async function complaints(texts: Readonly<Record<string, string>>): Promise<string> {
  const options = { include: ['*.ts'], extends: '../../tsconfig.json' }
  const compilerOptions = { rootDir: '../..', types: [] }
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify({ ...options, compilerOptions }))
  for (const [name, text] of Object.entries(texts)) {
    const head = `import type { GrafanaDashboard } from '../../test/dashboards/grafana-model.ts'`
    const code = `${head}\nexport const dashboard: GrafanaDashboard = ${text}\n`
    await writeFile(join(directory, `${name}.ts`), code)
  }
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  return new Promise((resolve) => {
    execFile(process.execPath, [compiler, '-p', directory], (error, stdout, stderr) =>
      resolve(error === null ? '' : `${stdout}${stderr}${stdout === '' ? error.message : ''}`),
    )
  })
}

const MISTAKES: Readonly<Record<string, (text: string) => string>> = {
  'a field of a dashboard': (text) => text.replace('"graphTooltip"', '"graphTooltips"'),
  'a kind of panel': (text) => text.replace('"timeseries"', '"timeserie"'),
  'an option of a panel': (text) => text.replace('"showLegend"', '"showLegends"'),
  'the value of an option': (text) => text.replace('"drawStyle": "line"', '"drawStyle": "lines"'),
  'a field of all series': (text) => text.replace('"thresholdsStyle"', '"thresholdStyle"'),
  'a column': (text) => text.replace('"type": "color-background"', '"type": "colour-background"'),
  'a variable': (text) => text.replace('"includeAll"', '"includesAll"'),
}

it('dashboards are what the types that Grafana publishes say, and wrong ones are not', async () => {
  const read = (file: string): Promise<string> =>
    readFile(join(ROOT, 'deploy/chart/files/grafana', file), 'utf8')
  const texts: Record<string, string> = {}
  for (const { file } of dashboards()) texts[file.replace('.json', '')] = await read(file)
  const [overview = ''] = Object.values(texts)
  Object.values(MISTAKES).forEach((mistake, index) => {
    const wrong = mistake(overview)
    expect(wrong).not.toBe(overview)
    texts[`mistake-${index}`] = wrong
  })
  const said = await complaints(texts)
  const reported = said.split('\n').filter((line) => !/mistake-\d\.ts|^\s|^$/.test(line))
  expect(reported).toEqual([])
  Object.keys(MISTAKES).forEach((name, index) => {
    expect(said, name).toContain(`mistake-${index}.ts`)
  })
})
