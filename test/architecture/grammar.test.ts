import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { findsIn, GRAMMAR, type GrammarRule } from './grammar-rules.ts'
import { passagesOf } from './passages.ts'
import { texts } from './project-texts.ts'

const LIST = fileURLToPath(new URL('grammar-finds.txt', import.meta.url))

/** A file and a rule: `src/filters/delay.ts meets`. */
type Entry = string

/** Returns the finds in a text with their lines and what to write, by the name of the rule. */
function findsOf(path: string, text: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const passage of passagesOf(path, text)) {
    for (const rule of GRAMMAR) {
      for (const { index, 0: words } of findsIn(rule, passage)) {
        const line = passage.line + passage.text.slice(0, index).split('\n').length - 1
        const start = passage.text.slice(0, index).split('\n').at(-1)!.slice(-30)
        const shown = `${start}${words}`.replaceAll(/\s+/g, ' ').trim().slice(0, 100)
        const finds = found.get(rule.name) ?? []
        found.set(rule.name, [...finds, `${path}:${line}: “${shown}” write it like: ${rule.write}`])
      }
    }
  }
  return found
}

const found = new Map<Entry, readonly string[]>()
for (const [path, text] of texts) {
  for (const [name, finds] of findsOf(path, text)) found.set(`${path} ${name}`, finds)
}

function readList(): ReadonlyMap<Entry, number> {
  const lines = readFileSync(LIST, 'utf8').split('\n').filter(Boolean)
  return new Map(lines.map((line) => [line.replace(/ \d+$/, ''), Number(/\d+$/.exec(line))]))
}

/**
 * Returns the list with no more finds than before; entries of a file that was moved, and is gone
 * from its former directory, go along.
 */
function shrunk(
  list: ReadonlyMap<Entry, number>,
  now: ReadonlyMap<Entry, number>,
  isGone: (path: string) => boolean,
): string {
  const gone = [...list].filter(([entry]) => isGone(entry.replace(/ .*/, '')))
  const lines = [...now].map(([entry, count]) => {
    const name = entry.replace(/^.*\//, '/')
    const moved = list.has(entry) ? -1 : gone.findIndex(([former]) => former.endsWith(name))
    const [, listed = 0] = moved === -1 ? [entry, list.get(entry)] : gone.splice(moved, 1)[0]!
    return [entry, Math.min(count, listed)] as const
  })
  const kept = lines.filter(([, count]) => count > 0).map(([entry, count]) => `${entry} ${count}\n`)
  return kept.toSorted().join('')
}

if (process.env['UPDATE'] !== undefined) {
  const now = new Map([...found].map(([entry, finds]) => [entry, finds.length]))
  writeFileSync(
    LIST,
    shrunk(readList(), now, (path) => !texts.has(path)),
  )
}

it('no file has more sentences that read like a translation than are listed', () => {
  const list = readList()
  const more = [...found].filter(([entry, finds]) => finds.length > (list.get(entry) ?? 0))
  expect(
    more.flatMap(([entry, finds]) => [`${entry}, listed: ${list.get(entry) ?? 0}`, ...finds]),
  ).toEqual([])
})

it('no file has fewer than are listed', () => {
  const fewer = [...readList()]
    .map(([entry, count]) => ({ entry, count, now: found.get(entry)?.length ?? 0 }))
    .filter(({ count, now }) => now < count)
    .map(({ entry, count, now }) => `${entry}, listed: ${count}, found: ${now}`)
  expect(fewer, 'the list can shrink: run npm run generate').toEqual([])
})

it('the list shrinks and follows files that are moved, and never grows', () => {
  const list = new Map([
    ['a/more.ts is-no', 2],
    ['a/fewer.ts is-no', 2],
    ['a/none.ts is-no', 1],
    ['a/moved.ts is-no', 2],
    ['a/copied.ts is-no', 1],
  ])
  const now = new Map([
    ['a/more.ts is-no', 3],
    ['a/fewer.ts is-no', 1],
    ['b/moved.ts is-no', 3],
    ['c/moved.ts is-no', 1],
    ['a/copied.ts is-no', 1],
    ['b/copied.ts is-no', 1],
    ['b/new.ts is-no', 1],
  ])
  expect(
    shrunk(list, now, (path) => path === 'a/moved.ts')
      .split('\n')
      .slice(0, -1),
  ).toEqual([
    'a/copied.ts is-no 1',
    'a/fewer.ts is-no 1',
    'a/more.ts is-no 2',
    'b/moved.ts is-no 2',
  ])
})

function isFound(rule: GrammarRule, text: string): boolean {
  return findsIn(rule, { kind: rule.reads ?? 'prose', line: 1, text }).length > 0
}

describe.each(GRAMMAR)('$name', (rule) => {
  it('finds its examples', () => {
    for (const text of rule.found) expect(isFound(rule, text), text).toBe(true)
  })

  it('has a way to write them that no rule finds', () => {
    const others = GRAMMAR.filter(({ reads }) => reads === rule.reads)
    for (const text of others.flatMap(({ fine }) => fine))
      expect(isFound(rule, text), text).toBe(false)
  })
})
