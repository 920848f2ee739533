// Copies the pages that docs/README.md lists to site/build/pages, with links that lead to pages of
// the site, or to files of the repository.
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path/posix'
import { fileURLToPath } from 'node:url'
import { LINK, navigation } from './navigation.mjs'

export const SITE = fileURLToPath(new URL('.', import.meta.url))

/** Pages of the site that are not below docs/, by their path in the repository. */
const ELSEWHERE = {
  'CONTRIBUTING.md': 'contributing/contributing.md',
  'SECURITY.md': 'contributing/security.md',
  'CHANGELOG.md': 'contributing/changelog.md',
  'deploy/chart/README.md': 'reference/chart.md',
  'deploy/examples/README.md': 'reference/cluster-examples.md',
  'examples/README.md': 'reference/rules-examples.md',
}

const HOME = `---
layout: home
title: Squall
hero:
  name: Squall
  text: Chaos engineering for MCP
  tagline: A sidecar that injects faults into selected calls of an MCP server, and labels every error by its origin.
  actions:
    - { theme: brand, text: Tutorial, link: /get-started/tutorial }
    - { theme: alt, text: All faults, link: /reference/faults/ }
    - { theme: alt, text: Troubleshooting, link: /guides/troubleshooting }
---

`

/** Copies the pages of a repository; returns their navigation, and what is wrong with them. */
export async function writePages({ root, to, repository }) {
  await rm(to, { recursive: true, force: true })
  const names = await readdir(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  for (const name of names.filter((each) => /\.(?:png|svg)$/.test(each))) {
    await cp(join(root, 'docs', name), join(to, name), { recursive: true })
  }
  const pages = sitePages(names.filter((name) => name.endsWith('.md')))
  const { sidebar, listed } = await navigation(root, (path) => pages.get(path))
  const problems = []
  for (const [path, page] of pages) {
    const text = await readFile(join(root, path), 'utf8').catch(() => undefined)
    if (text === undefined) continue
    if (!listed.has(page) && page !== 'index.md') {
      problems.push(`${path} is not in the navigation: add it to docs/README.md`)
    }
    const resolve = (link) => linkOf({ path, page, link, pages, repository })
    await mkdir(dirname(join(to, page)), { recursive: true })
    const here = rewritten(text, resolve)
    // The home page has a title of its own.
    await writeFile(join(to, page), page === 'index.md' ? here.replace(/^# .*\n/, HOME) : here)
  }
  return { sidebar, problems }
}

/** Returns the path in the site of each page of the repository. */
function sitePages(names) {
  const below = names
    .toSorted()
    .map((name) => [`docs/${name}`, name.replace(/README\.md$/, 'index.md')])
  return new Map([...below, ...Object.entries(ELSEWHERE)])
}

/** Returns the link as the site has it, or undefined where nothing is there to link to. */
function linkOf({ path, page, link, pages, repository }) {
  if (/^(?:[a-z]+:|#)/.test(link)) return link
  const [file, anchor] = link.split('#')
  const target = join(dirname(path), file)
  const inSite = pages.get(target)
  const suffix = anchor === undefined ? '' : `#${anchor}`
  if (inSite !== undefined) {
    const to = relative(dirname(page), inSite)
    return `${to.startsWith('.') ? '' : './'}${to}${suffix}`
  }
  if (/\.(?:png|svg)$/.test(target)) return link
  return repository === undefined ? undefined : `${repository}/blob/HEAD/${target}${suffix}`
}

/** Replaces the links outside code blocks; a link without a target becomes its text. */
function rewritten(text, resolve) {
  return text
    .split(/(^ *```[^]*?^ *```$)/m)
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll(LINK, linked(resolve))))
    .join('')
}

function linked(resolve) {
  return (whole, text, link) => {
    const to = resolve(link)
    return to === undefined ? text : `[${text}](${to})`
  }
}
