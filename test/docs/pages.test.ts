// A reader follows the pages: every command that needs Node alone is run as it is printed, with free ports.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { RUN_HERE } from './elsewhere.ts'
import { follow } from './page-run.ts'
import { readerWith, type Reader } from './reader.ts'

const LIMIT = 60_000
/** Guides are for those who have a server behind Squall; all other pages begin with a clone. */
const isGuide = (page: string): boolean =>
  page.startsWith('docs/guides/') && !/in-tests|operations/.test(page)
const GUIDES = RUN_HERE.filter(isGuide)
const PAGES = RUN_HERE.filter((page) => !isGuide(page) && page !== 'README.md')

let reader: Reader
beforeEach(async () => {
  reader = await readerWith()
})
afterEach(() => reader.close())

it('the README shows injected errors beside real ones', { timeout: LIMIT }, async () => {
  const { commands, wrong } = await follow(reader, 'README.md')
  expect(wrong).toEqual([])
  expect(commands).toBe(4)
  await eventually(async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${reader.port(15390)}/metrics`)).text()
    const errors = (tool: string, origin: string): boolean =>
      new RegExp(`^squall_errors_total{tool="${tool}",.*origin="${origin}"} [1-9]`, 'm').test(
        metrics,
      )
    return errors('search_docs', 'injected') && errors('get_weather', 'upstream')
      ? undefined
      : metrics
  })
})

it.each(GUIDES)('%s is true for a server behind Squall', { timeout: LIMIT }, async (page) => {
  await reader.write('rules.yaml', 'rules: []\n')
  await reader.run('node examples/server.mjs --failing')
  await reader.run('npx squall run --rules rules.yaml')
  const { commands, wrong } = await follow(reader, page)
  expect(wrong).toEqual([])
  expect(commands).toBeGreaterThan(0)
})

it.each(PAGES)('%s is true', { timeout: LIMIT }, async (page) => {
  const { wrong } = await follow(reader, page)
  expect(wrong).toEqual([])
})
