// part: docs
// A reader follows the pages whose commands take long; test/docs follows the others.
import { beforeEach, it } from 'vitest'
import { RUN_LONG } from '../docs/elsewhere.ts'
import { expectTrue } from '../docs/page-run.ts'
import { type Reader } from '../docs/reader.ts'
import { closers } from '../support/closers.ts'
import { startTerminal } from '../support/commands.ts'
import { startUpstream } from '../support/wire.ts'

const OUTBOUND = 'docs/guides/outbound.md'

const open = closers()
let reader: Reader
beforeEach(async () => {
  reader = open(await startTerminal({ reader: {} }))
})

it.each(RUN_LONG.filter((page) => page !== OUTBOUND))('%s is true', (page) =>
  expectTrue(reader, page),
)

it(`${OUTBOUND} is true, with a database and a server that needs it`, async () => {
  open(await startUpstream('postgres', reader.port(5432)))
  open(await startUpstream('docs', reader.port(15432), reader.port(3000)))
  await expectTrue(reader, OUTBOUND)
})
