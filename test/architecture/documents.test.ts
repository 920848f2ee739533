import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { parseCommandLine } from '../../src/cli/commands/index.ts'
import { parseRules } from '../../src/rules/file/parse.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FENCED = /^ *```([a-z]*)\n([^]*?)^ *```/gm
/** A shell's operator, or a description beside a command. */
const REST = / (?:[|>&]| |<\().*$/
/** A word of a shell command: plain, or with quoted parts. */
const WORD = /(?:'[^']*'|"[^"]*"|[^\s'"])+/g

interface Block {
  readonly page: string
  readonly language: string
  readonly text: string
}

async function blocks(): Promise<readonly Block[]> {
  const names = await readdir(join(ROOT, 'docs'), { recursive: true })
  const pages = names.filter((name) => name.endsWith('.md') && !/reference|decisions/.test(name))
  const all = await Promise.all(
    ['README.md', ...pages.map((name) => `docs/${name}`)].map(async (page) => {
      const text = await readFile(join(ROOT, page), 'utf8')
      return [...text.matchAll(FENCED)].map(([, language = '', inner = '']) => {
        return { page, language, text: inner }
      })
    }),
  )
  return all.flat()
}

it('rules files of the documents are valid', async () => {
  const files = (await blocks()).filter(
    ({ language, text }) =>
      language === 'yaml' &&
      /^rules:/m.test(text) &&
      !/^(apiVersion|steadyState|load):/m.test(text),
  )
  const wrong = files.flatMap(({ page, text }) => {
    const parsed = parseRules(text)
    return parsed.ok ? [] : [{ page, problems: parsed.problems }]
  })
  expect(files.length).toBeGreaterThan(5)
  expect(wrong).toEqual([])
})

it('commands of the documents are understood', async () => {
  const commands = (await blocks()).flatMap(({ page, text }) =>
    text
      .replaceAll('\\\n', ' ')
      .split('\n')
      .map((line) => /^ *(?:npx )?squall (.*)$/.exec(line)?.[1])
      .filter((line): line is string => line !== undefined && !line.includes('…'))
      .map((line) => ({ page, line: line.replace(REST, '') })),
  )
  const wrong = commands.flatMap(({ page, line }) => {
    const words = [...line.matchAll(WORD)].map(([word]) => word.replaceAll(/['"]/g, ''))
    try {
      parseCommandLine(words, {}, '0.0.0')
      return []
    } catch (error) {
      return [`${page}: ${line}: ${(error as Error).message}`]
    }
  })
  expect(commands.length).toBeGreaterThan(20)
  expect(wrong).toEqual([])
})
