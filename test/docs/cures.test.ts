import { readdir, readFile, writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { blocksOf, ROOT } from './blocks.ts'

const PAGE = 'docs/guides/resilient-clients.md'
const SNIPPETS = 'examples/cures'
const TOPICS = ['back-off', 'retry-after', 'idempotency-key', 'time-limit', 'session']
const PYTHON = ['langchain', 'openai', 'pydantic', 'python']

const file = (name: string): Promise<string> => readFile(`${ROOT}${SNIPPETS}/${name}`, 'utf8')

/** The snippets of the page, by the file that the line before each names. */
async function shown(): Promise<ReadonlyMap<string, string>> {
  const blocks = await blocksOf(PAGE)
  return new Map(
    blocks.flatMap(({ before, text }) => {
      const name = /\(\.\.\/\.\.\/examples\/cures\/([\w.-]+)\)$/.exec(before)?.[1]
      return name === undefined ? [] : [[name, text] as const]
    }),
  )
}

it('has a section for each topic, and in it a snippet for each client', async () => {
  const page = await readFile(`${ROOT}${PAGE}`, 'utf8')
  const anchors = [...page.matchAll(/^<a id="([\w-]+)"><\/a>\n\n## /gm)].map(([, id]) => id)
  expect(anchors).toEqual(TOPICS)
  const expected = TOPICS.flatMap((topic) => [
    `${topic}-typescript.mjs`,
    ...PYTHON.map((client) => `${topic.replaceAll('-', '_')}_${client}.py`),
  ]).concat('connection_python.py')
  expect((await readdir(`${ROOT}${SNIPPETS}`)).filter((name) => /\.(mjs|py)$/.test(name))).toEqual(
    expected.toSorted(),
  )
  expect([...(await shown()).keys()].toSorted()).toEqual(expected.toSorted())
})

it('shows each snippet as its file is; with UPDATE=1 it is written into the page', async () => {
  for (const [name, text] of await shown()) {
    const current = await file(name)
    if (process.env['UPDATE'] === '1') {
      const page = await readFile(`${ROOT}${PAGE}`, 'utf8')
      await writeFile(
        `${ROOT}${PAGE}`,
        page.replace(text, () => current),
      )
    } else {
      expect(text, name).toBe(current)
    }
    expect(current.trimEnd().split('\n').length, name).toBeLessThanOrEqual(40)
  }
})
