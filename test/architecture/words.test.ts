import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Avoided, AVOIDED, isAvoided, withWordsApart } from './avoided-words.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const DIRECTORIES = ['src', 'docs', 'examples', 'deploy', 'scripts', 'bench', '.github']
const FILES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'package.json']
const READ = /\.(?:[cm]?[jt]s|sh|md|ya?ml|json|tpl|txt|html)$|Dockerfile$/

/** Returns the texts in a directory, by their paths. */
async function textsIn(directory: string): Promise<[path: string, text: string][]> {
  const paths = (await readdir(join(ROOT, directory), { recursive: true })).sort()
  // Decisions and notes keep the words of their time.
  const read = paths.filter((path) => READ.test(path) && !/decisions\/|notes\//.test(path))
  return Promise.all(
    read.map(async (path): Promise<[string, string]> => [
      `${directory}/${path}`,
      await readFile(join(ROOT, directory, path), 'utf8'),
    ]),
  )
}

/**
 * Texts that people read: documents, help, messages, descriptions of schemas, identifiers,
 * comments.
 */
const texts = new Map<string, string>()
for (const directory of DIRECTORIES) {
  for (const [path, text] of await textsIn(directory)) texts.set(path, text)
}
for (const path of FILES) texts.set(path, await readFile(join(ROOT, path), 'utf8'))
// The list of renames names the words that were used before.
texts.set(
  'CHANGELOG.md',
  texts.get('CHANGELOG.md')!.replace(/^### Renamed$[^]*?(?=^##|$(?!\n))/m, ''),
)

/** Texts by their paths, as they are and with the words of identifiers apart. */
const forms = [...texts].map(([path, text]) => [path, text, withWordsApart(text)] as const)

function found(avoided: Avoided): readonly string[] {
  // Most texts hold none of the words, and need not be read line by line.
  const anywhere = new RegExp(avoided.not, `${avoided.not.flags}m`)
  return forms.flatMap(([path, text, apart]) =>
    anywhere.test(text) || anywhere.test(apart)
      ? text
          .split('\n')
          .flatMap((line, index) =>
            isAvoided(avoided, line) ? [`${path}:${index + 1}: ${line.trim()}`] : [],
          )
      : [],
  )
}

describe.each(AVOIDED)('people read $say', (avoided) => {
  it('and no other words for it', () => expect(found(avoided)).toEqual([]))

  it('or else the test fails', () => {
    for (const example of avoided.examples) expect(isAvoided(avoided, example), example).toBe(true)
    expect(isAvoided(avoided, avoided.say)).toBe(false)
  })
})

it('no comment begins with a question word, Of or As of', async () => {
  const read = ['src/', 'bench/', 'scripts/']
  const own = [...texts].filter(([path]) => read.some((directory) => path.startsWith(directory)))
  // Tests name the words to avoid, so that they are not among the texts above.
  const tests = await textsIn('test')
  const comments = [...own, ...tests].flatMap(([path, text]) =>
    [
      ...text.matchAll(
        /(?:\/\*\*+|\/\/)\s*(?:\*\s*)?(?:What|Who|Whoever|Whose|Whom|Whether|How|Of|As of)\b.*/g,
      ),
    ]
      // A line that continues the comment above.
      .filter(({ index }) => !/(?:^|\n)[ \t]*\/\/.*\n\s*$/.test(text.slice(0, index).slice(-200)))
      .map(([comment]) => `${path}: ${comment}`),
  )
  expect(comments).toEqual([])
})
