// A reader follows the pages whose commands take long; test/docs follows the others.
import { afterEach, beforeEach, it } from 'vitest'
import { RUN_LONG } from '../docs/elsewhere.ts'
import { expectTrue } from '../docs/page-run.ts'
import { type Reader } from '../docs/reader.ts'
import { startTerminal } from '../support/terminal.ts'

let reader: Reader
beforeEach(async () => {
  reader = await startTerminal({ reader: {} })
})
afterEach(() => reader.close())

it.each(RUN_LONG)('%s is true', (page) => expectTrue(reader, page))
