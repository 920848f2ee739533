import type { ServerResponse } from 'node:http'
import type { AdminResponse } from '../../src/admin/admin-response.ts'
import type { Open } from '../support/closers.ts'
import { RawClient, startUpstream } from '../support/wire.ts'

/** A reader of a stream, with the server's side of its connection. */
export interface StreamReader {
  readonly client: RawClient
  readonly response: ServerResponse
}

/** Serves streams, and opens readers of them; `open` opens a stream or returns the rejection. */
export async function serveStreams(
  opened: Open,
  open: (response: ServerResponse, query: URLSearchParams) => AdminResponse | undefined,
): Promise<(query?: string) => Promise<StreamReader>> {
  const responses: ServerResponse[] = []
  const { url, port } = opened(
    await startUpstream((request, response) => {
      responses.push(response)
      const rejected = open(response, new URL(request.url!, url).searchParams)
      if (rejected === undefined) return
      response.writeHead(rejected.status, { 'content-type': rejected.type })
      response.end(rejected.body)
    }),
  )
  return async (query = '') => {
    const client = opened(await RawClient.connect(port, { keepBody: false }))
    await client.send(`GET /?${query} HTTP/1.1\r\nHost: squall\r\n\r\n`, 'GET')
    await client.sees('\r\n\r\n')
    return { client, response: responses.at(-1)! }
  }
}
