// part: slow
import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const OXLINT = join(ROOT, 'node_modules/.bin/oxlint')
// Its patterns are relative to the file, so it stands beside the one of the project.
const CONFIG = join(ROOT, `.oxlintrc-${process.pid}.json`)
/** Rules that need types, which are slow to check here. */
const TYPED = ['typescript/no-unsafe-type-assertion', 'typescript/no-floating-promises']

interface Override {
  readonly files: readonly string[]
  readonly rules?: Readonly<Record<string, unknown>>
}

interface Config {
  readonly rules: Readonly<Record<string, unknown>>
  readonly overrides: readonly Override[]
}

interface Diagnostic {
  readonly code: string
  readonly filename: string
}

/** Returns what lint reports: `rule file`. */
async function reported(config: Config): Promise<readonly string[]> {
  await writeFile(CONFIG, JSON.stringify(config))
  try {
    const args = ['--config', CONFIG, '--format', 'json']
    // oxlint ends with 1 when it finds something.
    const { stdout } = await promisify(execFile)(OXLINT, args, {
      cwd: ROOT,
      maxBuffer: 1 << 26,
    }).catch((error: { readonly stdout: string }) => error)
    const { diagnostics } = JSON.parse(stdout) as { readonly diagnostics: readonly Diagnostic[] }
    // The code of a rule is written as `plugin(rule)`.
    return diagnostics.map(({ code, filename }) => `${code.replace(/^.*\(|\)$/g, '')} ${filename}`)
  } finally {
    await rm(CONFIG, { force: true })
  }
}

function isOff(setting: unknown): boolean {
  return setting === 'off'
}

/** Returns the exemptions of a configuration that no file needs. */
async function unneeded(config: Config): Promise<readonly string[]> {
  const strict = {
    ...config,
    rules: Object.fromEntries(Object.entries(config.rules).filter(([, each]) => !isOff(each))),
    overrides: config.overrides.filter(({ rules = {} }) => !Object.values(rules).some(isOff)),
  }
  const found = await reported(strict)
  const exemptions = [{ files: [''], rules: config.rules }, ...config.overrides].flatMap(
    ({ files, rules = {} }) =>
      Object.keys(rules)
        .filter((name) => isOff(rules[name]) && !TYPED.includes(name))
        .flatMap((name) => files.map((file) => `${name.replace(/^.*\//, '')} ${file}`)),
  )
  return exemptions.filter((each) => {
    const start = each.replace(/\*\*$/, '')
    return !found.some((line) => line.startsWith(start))
  })
}

async function ownConfig(): Promise<Config> {
  return JSON.parse(await readFile(join(ROOT, '.oxlintrc.json'), 'utf8')) as Config
}

it('exempts from lint only what needs it', async () => {
  const config = await ownConfig()
  expect(await unneeded(config)).toEqual([])
  const overrides = [...config.overrides, { files: ['src/mcp/**'], rules: { 'no-console': 'off' } }]
  const planted = { ...config, overrides, rules: { ...config.rules, 'no-debugger': 'off' } }
  expect(await unneeded(planted)).toEqual(['no-debugger ', 'no-console src/mcp/**'])
})
