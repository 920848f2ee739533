// Reads the navigation from the list of pages in docs/README.md: its sections, and the groups in them.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path/posix'

/** A link of Markdown: its text, and its target. */
export const LINK = /(?<!!)\[((?:[^[\]]|\[[^[\]]*\])*)\]\(([^()\s]+)\)/g
/** A row of the list of decisions: number, file and title. */
const DECISION = /^\| \[(\d+)\]\(([^)]+)\) +\| (.*?) +\|/gm

/** Returns the sidebar, and the pages of the site that it lists. */
export async function navigation(root, pageOf) {
  const read = (path) => readFile(join(root, path), 'utf8')
  const listed = new Set()
  const item = (text, path) => {
    const page = pageOf(path)
    if (page === undefined) return []
    listed.add(page)
    return [{ text, link: `/${page.replace(/(?:index)?\.md$/, '')}` }]
  }
  const sidebar = sections(await read('docs/README.md'), item)
  const decisions = [...(await read('docs/decisions/README.md')).matchAll(DECISION)].flatMap(
    ([, number, file, title]) => item(`${number} ${title}`, join('docs/decisions', file)),
  )
  sidebar.push({ text: 'Decisions', collapsed: true, items: decisions })
  return { sidebar, listed }
}

/** Each `##` is a section; `###` in it and a bullet that begins with bold text are groups. */
function sections(text, item) {
  const sidebar = []
  let items = []
  for (const line of text.split('\n')) {
    const [, level, title] = /^(##+) (.*)/.exec(line) ?? []
    if (title !== undefined) {
      items = []
      const group = { text: title, collapsed: true, items }
      if (level === '##') sidebar.push(group)
      else sidebar.at(-1).items.push(group)
    } else if (line.startsWith('- ')) {
      const links = linksOf(line).flatMap(([name, link]) => item(name, join('docs', link)))
      const [, name] = /^- \*\*(.+?)\*\*/.exec(line) ?? []
      if (name === undefined) items.push(...links.map(titled))
      else items.push({ text: name, collapsed: true, items: links })
    }
  }
  return sidebar
}

/** A link in the middle of a line begins in lower case; commands stay as they are typed. */
function titled({ text, link }) {
  const title = text.startsWith('squall ') ? text : `${text[0].toUpperCase()}${text.slice(1)}`
  return { text: title, link }
}

/** Returns the text and the target of each link in a line. */
function linksOf(line) {
  return [...line.matchAll(LINK)].map(([, text, link]) => [text.replaceAll('`', ''), link])
}
