// part: campaigns
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'vite'
import { expect, test } from 'vitest'
import { ALIASES } from '../../scripts/lib/doors.mjs'
import type { CampaignOptions, CampaignResult } from '../engines/campaign.ts'
import { resultText } from '../engines/report.ts'
import { seedOfRun } from '../support/random.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const OUT = `${ROOT}build/engines`
const EXCHANGES = Number(process.env['SQUALL_ENGINES_EXCHANGES'] ?? 500_000)
const PROCESSES = 2
const WORKERS = 40
/** On a machine that is busy with other things a few waits are given up too early. */
const UNSTEADY = 1 / 200

/** Makes one file of the campaign, which then runs as fast as the program itself does. */
async function bundle(): Promise<string> {
  await build({
    configFile: false,
    logLevel: 'error',
    root: ROOT,
    resolve: { alias: ALIASES },
    build: {
      ssr: 'test/engines/campaign-process.ts',
      outDir: OUT,
      emptyOutDir: true,
      target: 'node20',
      minify: false,
    },
  })
  return `${OUT}/campaign-process.js`
}

async function campaign(file: string, options: CampaignOptions): Promise<CampaignResult> {
  const { stdout } = await run(process.execPath, [file, JSON.stringify(options)], {
    cwd: ROOT,
    maxBuffer: 256 * 1024 * 1024,
  })
  return JSON.parse(stdout) as CampaignResult
}

function added(results: readonly CampaignResult[]): CampaignResult {
  const kinds: Record<string, number> = {}
  for (const result of results) {
    for (const [kind, count] of Object.entries(result.kinds)) {
      kinds[kind] = (kinds[kind] ?? 0) + count
    }
  }
  const sum = (of: (result: CampaignResult) => number): number =>
    results.reduce((total, result) => total + of(result), 0)
  return {
    exchanges: sum(({ exchanges }) => exchanges),
    scripts: sum(({ scripts }) => scripts),
    differing: sum(({ differing }) => differing),
    differences: results.flatMap(({ differences }) => differences),
    unsteady: results.flatMap(({ unsteady }) => unsteady),
    later: sum(({ later }) => later),
    kinds,
  }
}

test(`both engines do the same in ${EXCHANGES} exchanges`, { timeout: 1_800_000 }, async () => {
  const seed = seedOfRun()
  const block = process.env['SQUALL_ENGINES_BLOCK']
  const file = await bundle()
  const processes = block === undefined ? PROCESSES : 1
  const results = await Promise.all(
    Array.from({ length: processes }, (_none, share) =>
      campaign(file, {
        engines: ['standard', 'fast'],
        seed,
        exchanges: EXCHANGES / processes,
        workers: WORKERS,
        share,
        of: processes,
        block: block === undefined ? undefined : Number(block),
      }),
    ),
  )
  const result = added(results)
  const text = resultText(seed, result)
  process.stdout.write(`${text.slice(0, text.indexOf('\n'))}\n${JSON.stringify(result.kinds)}\n`)
  expect(result.differing, text).toBe(0)
  expect(result.unsteady.length, text).toBeLessThanOrEqual(result.scripts * UNSTEADY + 2)
  if (block === undefined) expect(result.exchanges).toBeGreaterThanOrEqual(EXCHANGES)
})
