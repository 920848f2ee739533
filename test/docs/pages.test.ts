// part: slow
// A reader follows the pages: every command that needs Node alone is run as it is printed, with
// free ports.
import { afterEach, beforeEach, it } from 'vitest'
import { startTerminal } from '../support/commands.ts'
import { RUN_HERE } from './elsewhere.ts'
import { expectTrue } from './page-run.ts'
import { type Reader } from './reader.ts'

const PAGES = RUN_HERE.filter((page) => page !== 'README.md')

let reader: Reader
beforeEach(async () => {
  reader = await startTerminal({ reader: {} })
})
afterEach(() => reader.close())

it.each(PAGES)('%s is true', { timeout: 60_000 }, (page) => expectTrue(reader, page))
