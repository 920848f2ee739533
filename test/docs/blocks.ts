import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** The directory of the project. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** A fenced block of a page. */
export interface Block {
  readonly page: string
  readonly language: string
  readonly text: string
  /** The last words before the block. */
  readonly before: string
}

const FENCED = /^( *)```([^\n]*)\n([^]*?)^ *```$/gm
/** Directories whose pages are for people. */
const DIRECTORIES = ['docs', 'examples', 'deploy', 'bench']
const ROOT_PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'test/system/README.md']

/** Lists the pages of the project, without the records of decisions, which age. */
export async function pages(): Promise<readonly string[]> {
  const below = await Promise.all(
    DIRECTORIES.map(async (directory) => {
      const names = await readdir(`${ROOT}${directory}`, { recursive: true })
      return names.filter((name) => name.endsWith('.md')).map((name) => `${directory}/${name}`)
    }),
  )
  return [...ROOT_PAGES, ...below.flat().sort()].filter((page) => !page.includes('decisions/'))
}

/** Reads the fenced blocks of a page, in order and without their indentation. */
export async function blocksOf(page: string): Promise<readonly Block[]> {
  const source = await readFile(`${ROOT}${page}`, 'utf8')
  return [...source.matchAll(FENCED)].map(
    ({ 1: indent = '', 2: info = '', 3: inner = '', index }) => ({
      page,
      language: info.split(' ', 1)[0]!,
      text: inner.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      before: source.slice(0, index).trimEnd().slice(-120),
    }),
  )
}

/**
 * Reads the commands of a shell block: lines with their continuations, and here-documents as a
 * whole.
 */
export function commandsOf({ language, text }: Block): readonly string[] {
  if (language !== 'sh') return []
  const commands: string[] = []
  let open: { readonly end: RegExp } | undefined
  let isContinued = false
  for (const line of text.split('\n')) {
    const isPart = open !== undefined || isContinued
    if (isPart) commands.push(`${commands.pop()!}\n${line}`)
    else if (line.trim() !== '' && !line.startsWith('#')) commands.push(line)
    else continue
    if (open?.end.test(line)) open = undefined
    else if (open === undefined) open = beginOf(line)
    isContinued = open === undefined && line.endsWith('\\')
  }
  return commands
}

function beginOf(line: string): { readonly end: RegExp } | undefined {
  const marker = /<<'?(\w+)'?/.exec(line)?.[1]
  if (marker !== undefined) return { end: new RegExp(`^${marker}$`) }
  return /^(for|while) .*; do$/.test(line) ? { end: /^done\b/ } : undefined
}
