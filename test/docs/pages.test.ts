// A reader follows the pages: every command that needs Node alone is run as it is printed, with
// free ports.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { startTerminal } from '../support/terminal.ts'
import { RUN_HERE } from './elsewhere.ts'
import { expectTrue, follow } from './page-run.ts'
import { type Reader } from './reader.ts'

const LIMIT = 60_000
const PAGES = RUN_HERE.filter((page) => page !== 'README.md')

let reader: Reader
beforeEach(async () => {
  reader = await startTerminal({ reader: {} })
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
    return errors('search_docs', 'injected') && errors('get_weather', 'real') ? undefined : metrics
  })
})

it.each(PAGES)('%s is true', { timeout: LIMIT }, (page) => expectTrue(reader, page))
