// A reader follows the pages whose commands take long; test/docs follows the others.
import { afterEach, beforeEach, it } from 'vitest'
import { RUN_LONG } from '../docs/elsewhere.ts'
import { expectTrue } from '../docs/page-run.ts'
import { readerWith, type Reader } from '../docs/reader.ts'

let reader: Reader
beforeEach(async () => {
  reader = await readerWith()
})
afterEach(() => reader.close())

it.each(RUN_LONG)('%s is true', (page) => expectTrue(reader, page))
