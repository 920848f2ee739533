// Writes docs/reference/, the schema of rules files and the dashboards from the code as it is built. With --check it writes nothing and fails when a page is stale.
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { CHART_FILES } from './lib/chart.mjs'
import { adminApiPage } from './lib/admin-api-page.mjs'
import { annotationsPage } from './lib/annotations-page.mjs'
import { commandsPage } from './lib/commands-page.mjs'
import { DASHBOARDS } from './lib/dashboards.mjs'
import { faultPages } from './lib/fault-pages.mjs'
import { flagsPage } from './lib/flags-page.mjs'
import { frameworksPage } from './lib/frameworks-page.mjs'
import { importPage } from './lib/import-page.mjs'
import { metricsPage } from './lib/metrics-page.mjs'
import { planPage } from './lib/plan-page.mjs'
import { programHelp } from './lib/program-help.mjs'
import { matchersPage, rulesPage, schemaOf } from './lib/rules-pages.mjs'

const ROOT = new URL('../', import.meta.url)

const PAGES = [
  { path: 'docs/reference/admin-api.md', make: adminApiPage },
  { path: 'docs/reference/annotations.md', make: annotationsPage },
  { path: 'docs/reference/commands.md', make: commandsPage },
  { path: 'docs/reference/flags.md', make: flagsPage },
  { path: 'docs/reference/frameworks.md', make: frameworksPage },
  { path: 'docs/reference/import.md', make: importPage },
  { path: 'docs/reference/matchers.md', make: matchersPage },
  { path: 'docs/reference/metrics.md', make: metricsPage },
  { path: 'docs/reference/plan.md', make: planPage },
  { path: 'docs/reference/rules.md', make: rulesPage },
  { path: 'deploy/rules.schema.json', make: schemaOf('rules') },
  { path: 'deploy/experiment.schema.json', make: schemaOf('experiment') },
  { path: 'deploy/policy.schema.json', make: schemaOf('policy') },
  { path: 'deploy/tape.schema.json', make: schemaOf('tape') },
  { path: 'src/cli/commands/program-help.ts', make: programHelp },
  ...DASHBOARDS,
  ...CHART_FILES,
]

/** The modules that pages are made from come out of the build; without it there is nothing to say. */
async function built(path) {
  try {
    return await import(new URL(`build/js/${path}`, ROOT).href)
  } catch (error) {
    throw new Error(
      `build/js/${path} cannot be loaded (run npm run build first): ${error.message}`,
      {
        cause: error,
      },
    )
  }
}

/** Pages are kept as prettier writes them, so that the format check and this one agree. */
async function formatted(text, file) {
  const { format, resolveConfig } = await import('prettier')
  return format(text, { ...(await resolveConfig(file)), filepath: file })
}

/** Returns what a file says, without the spaces and rules that prettier sets. */
function content(path, text) {
  if (path.endsWith('.json')) return text === '' ? '' : JSON.stringify(JSON.parse(text))
  if (path.endsWith('.md')) return text.replaceAll(/ {2,}/g, ' ').replaceAll(/-{3,}/g, '---')
  return text
}

async function current(file) {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return ''
    throw error
  }
}

/** The lines from the first to the last that differ, as a diff would show them. */
function difference(path, before, after) {
  const old = before.split('\n')
  const fresh = after.split('\n')
  let start = 0
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start++
  let tail = 0
  while (
    tail < old.length - start &&
    tail < fresh.length - start &&
    old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]
  ) {
    tail++
  }
  const gone = old.slice(start, old.length - tail)
  const come = fresh.slice(start, fresh.length - tail)
  const lines = [
    `--- ${path}`,
    `+++ ${path} (from the code)`,
    `@@ -${start + 1},${gone.length} +${start + 1},${come.length} @@`,
  ]
  for (const line of gone) lines.push(`-${line}`)
  for (const line of come) lines.push(`+${line}`)
  return `${lines.join('\n')}\n`
}

async function main(args) {
  const unknown = args.find((arg) => arg !== '--check')
  if (unknown !== undefined) {
    process.stderr.write(`unknown option ${unknown}; the only one is --check\n`)
    return 2
  }
  const check = args.includes('--check')
  let stale = 0
  for (const { path, make } of [...PAGES, ...(await faultPages(built))]) {
    const file = fileURLToPath(new URL(path, ROOT))
    const made = await make(built)
    const before = await current(file)
    // Prettier is slow, and the format of what is committed is checked with that of all files.
    const isSame = check && content(path, made) === content(path, before)
    const text = isSame ? before : await formatted(made, file)
    if (before === text) {
      process.stdout.write(`${path} is current\n`)
    } else if (check) {
      stale++
      process.stdout.write(difference(path, before, text))
    } else {
      await writeFile(file, text)
      process.stdout.write(`${path} written\n`)
    }
  }
  if (stale > 0) process.stderr.write('generated files are stale: run npm run generate\n')
  return stale > 0 ? 1 : 0
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
