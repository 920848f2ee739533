import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const { sidebar, repository } = JSON.parse(
  readFileSync(new URL('../build/site.json', import.meta.url), 'utf8'),
)

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M9 1 3 9h4l-1 6 7-9H8z' fill='%23b86a00'/%3E%3C/svg%3E"

/** Returns the anchor that GitHub gives a heading, so that links work in both places. */
function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
}

/** Returns the first page below an entry of the sidebar. */
function firstPage({ link, items }) {
  return link ?? firstPage(items[0])
}

export default defineConfig({
  title: 'Squall',
  description: 'Faults for MCP servers, injected into selected calls.',
  lang: 'en',
  base: process.env.SITE_BASE ?? '/',
  srcDir: 'build/pages',
  outDir: 'build/out',
  cacheDir: 'build/cache',
  head: [['link', { rel: 'icon', href: ICON }]],
  markdown: {
    anchor: { slugify: anchorOf },
    toc: { slugify: anchorOf },
    // GitHub makes no links of addresses of this machine either.
    config: (md) => md.set({ linkify: false }),
  },
  // A page of a reference is large, and nobody waits for it: the index of the search is loaded when it opens.
  vite: { build: { chunkSizeWarningLimit: 4096 }, logLevel: 'warn' },
  themeConfig: {
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    nav: sidebar
      .filter(({ text }) => text !== 'Decisions')
      .map((section) => ({ text: section.text, link: firstPage(section) })),
    sidebar,
    socialLinks: repository && [{ icon: 'github', link: repository }],
  },
})
