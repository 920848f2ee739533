import { readFile } from 'node:fs/promises'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parseCommandLine } from '../support/commands/command-line.ts'
import { parseRules } from '../../src/rules/file/parse.ts'
import { blocksOf, commandsOf, pages, ROOT } from '../docs/blocks.ts'
import { ELSEWHERE, RUN_HERE, RUN_LONG, type Elsewhere } from '../docs/elsewhere.ts'
import { elsewhere } from '../docs/page-run.ts'

/** A shell's operator, or a comment behind a command. */
const REST = / (?:[|>&#]|2>|<\().*$/
/** A word of a shell command: plain, or with quoted parts. */
const WORD = /(?:'[^']*'|"[^"]*"|[^\s'"])+/g
/** A squall command within a line of code, complete enough to be typed. */
const INLINE = /`(?:npx mcp-)?squall ([a-z][^`…[\n]*)`/g
const LANGUAGES = ['sh', 'text', 'yaml', 'json', 'js', 'ts', 'python', 'http']
/** A script of npm, or one that a shell or Node runs. */
const SCRIPT =
  /\bnpm run (?:-s )?([\w:-]+)|(?<![\w/.])((?:scripts|test|deploy|bench|examples)\/[\w./-]+\.(?:m?js|sh|ts|py))\b/g

const all = (await Promise.all((await pages()).map(blocksOf))).flat()
const commands = all.flatMap((block) =>
  commandsOf(block).map((command) => ({ page: block.page, command })),
)

function parse(text: string): void {
  const line = text.replaceAll('\\\n', ' ').split('\n')[0]!.replace(REST, '')
  const words = [...line.matchAll(WORD)].map(([word]) => word.replaceAll(/['"]/g, ''))
  parseCommandLine(words, { SQUALL_ADMIN_TOKEN: 'a-token-of-the-reader' }, '0.0.0')
}

it('rules files of the documents are valid', () => {
  const files = all.filter(
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

it('squall commands of the documents are understood', () => {
  const lines = commands.flatMap(({ page, command }) =>
    [...command.matchAll(/(?:^|[;&|=] |' )(?:npx mcp-)?squall ([^;]*)/gm)].map(([, line]) => ({
      page,
      line: line!,
    })),
  )
  const wrong = lines.flatMap(({ page, line }) => {
    try {
      parse(line)
      return []
    } catch (error) {
      return [`${page}: ${line}: ${(error as Error).message}`]
    }
  })
  expect(lines.length).toBeGreaterThan(60)
  expect(wrong).toEqual([])
})

it('squall commands within sentences name commands and options that exist', async () => {
  const wrong: string[] = []
  let count = 0
  for (const page of await pages()) {
    const text = (await readFile(`${ROOT}${page}`, 'utf8')).replaceAll(/^ *```[^]*?^ *```/gm, '')
    for (const [, words] of text.matchAll(INLINE)) {
      count++
      try {
        parse(words!)
      } catch (error) {
        const { message } = error as Error
        if (/unknown (?:command|option)|did you mean/i.test(message))
          wrong.push(`${page}: ${words}: ${message}`)
      }
    }
  }
  expect(count).toBeGreaterThan(100)
  expect(wrong).toEqual([])
})

it('blocks name their language, and commands have no prompt', () => {
  const wrong = all
    .filter(
      ({ language, text }) =>
        !LANGUAGES.includes(language) || (language === 'sh' && /^[$>] /m.test(text)),
    )
    .map(({ page, language, text }) => `${page}: \`\`\`${language} ${text.split('\n')[0]}`)
  expect(wrong).toEqual([])
})

it('every command of the documents is run by a test, or says why not', () => {
  const missed = commands
    .filter(({ page }) => !RUN_HERE.includes(page) && !RUN_LONG.includes(page))
    .filter(({ page, command }) => elsewhere(page, command) === undefined)
  expect(missed).toEqual([])
})

it('commands name scripts that exist', async () => {
  const { scripts } = JSON.parse(await readFile(`${ROOT}package.json`, 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  const named = commands.flatMap(({ page, command }) =>
    [...command.matchAll(SCRIPT)].map(([, script, file]) => ({ page, script, file })),
  )
  const lost = named.filter(({ script, file }) =>
    script === undefined ? !existsSync(`${ROOT}${file!}`) : scripts[script] === undefined,
  )
  expect(named.length).toBeGreaterThan(20)
  expect(lost).toEqual([])
})

it('the README goes into a pod by the commands that a test runs in a cluster', () => {
  const here = commands.filter(({ page }) => page === 'docs/get-started/kubernetes.md')
  const missed = commands.filter(
    ({ page, command }) =>
      page === 'README.md' &&
      /^(?:helm|kubectl|npx mcp-squall (?:apply|stop)) /.test(command) &&
      !here.some((each) => each.command === command),
  )
  expect(missed).toEqual([])
})

it('reasons not to run a command are about commands that there are, and tests that there are', () => {
  const unused = ELSEWHERE.filter(
    (entry) => !commands.some(({ page, command }) => elsewhere(page, command) === entry),
  )
  expect(unused).toEqual([])
  const tests = readdirSync(`${ROOT}test/system`)
  const reads = (test: string, page: string | undefined): boolean =>
    tests.includes(test) && readFileSync(`${ROOT}test/system/${test}`, 'utf8').includes(page ?? '')
  const lost = ELSEWHERE.filter(({ page, by, because }: Elsewhere) =>
    by === undefined ? because === undefined : !reads(by, page),
  )
  expect(lost).toEqual([])
  const named = ELSEWHERE.flatMap(({ because = '' }) => because.match(/[\w-]+\.test\.ts/g) ?? [])
  const unknown = named.filter(
    (test) => !tests.includes(test) && !existsSync(`${ROOT}test/architecture/${test}`),
  )
  expect(unknown).toEqual([])
})

it('a decision fits on a page', async () => {
  const names = readdirSync(`${ROOT}docs/decisions`).filter((name) => /^\d{4}-/.test(name))
  const wrong: string[] = []
  for (const name of names) {
    const text = await readFile(`${ROOT}docs/decisions/${name}`, 'utf8')
    const words = text.split(/\s+/).filter((word) => /\w/.test(word)).length
    const lacks = ['Status: ', '## Context', '## Decision', '## Consequences'].filter(
      (part) => !text.includes(part),
    )
    if (words > 350 || lacks.length > 0)
      wrong.push(`${name}: ${words} words, lacks ${lacks.join()}`)
  }
  expect(wrong).toEqual([])
})
