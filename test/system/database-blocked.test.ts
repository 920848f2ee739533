import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { openClient } from '../support/open-client.ts'
import { startUpstream } from '../support/upstream.ts'

const open = closers()
test('works', async () => {
  const postgres = open(await startUpstream('postgres'))
  const server = open(await startUpstream('docs', postgres.port))
  const client = open(await openClient('v1')(`${server.url}/mcp`, 'streamableHttp'))
  expect(await client.call('search_docs', { query: 'a' })).toEqual({
    content: [{ type: 'text', text: 'a' }],
  })
  expect(await postgres.connections()).toBe(1)
  expect(await server.health()).toEqual({
    status: 200,
    database: 'ok',
    pool: { open: 1, idle: 1, waiting: 0 },
  })
})
