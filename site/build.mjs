// Builds the site to site/build/out as static files. SITE_BASE is the path under which they are served
// (/); SITE_REPOSITORY the address of the repository, where package.json has none. Fails on dead links,
// and on pages that are not in the navigation.
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'vitepress'
import { deadLinks } from './links.mjs'
import { SITE, writePages } from './pages.mjs'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const { SITE_BASE = '/', SITE_REPOSITORY } = process.env

/** Returns the address of the repository, or undefined where nobody has named it. */
async function repositoryOf() {
  const { repository } = JSON.parse(await readFile(`${ROOT}package.json`, 'utf8'))
  const url = SITE_REPOSITORY ?? repository?.url ?? repository
  // Until somebody has named the owner, links to files are their text alone.
  if (url === undefined || url.includes('/OWNER/')) return undefined
  return url.replace(/^git\+/, '').replace(/\.git$/, '')
}

async function main() {
  const repository = await repositoryOf()
  const to = `${SITE}build/pages`
  const { sidebar, problems } = await writePages({ root: ROOT, to, repository })
  await writeFile(`${SITE}build/site.json`, JSON.stringify({ sidebar, repository }))
  if (problems.length === 0) {
    await build(SITE)
    problems.push(...(await deadLinks(`${SITE}build/out`, SITE_BASE)))
  }
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  return problems.length === 0 ? 0 : 1
}

process.exitCode = await main()
