import type { accessOf } from '../commands/experiment.ts'
import type { Endpoint } from '../load/clients/load-client.ts'
import { openEndpoint } from '../load/clients/open-endpoint.ts'
import { withToken } from './server-flags.ts'
import { readVersion } from '#base'

/** An MCP server with its tools. */
export type ListedServer = Omit<Endpoint, 'connect' | 'close'>

/** Asks an MCP server for its tools. Throws a `LoadError` or a `UsageError`. */
export async function listTools(
  url: URL,
  { headers, authTokenFile }: Pick<ReturnType<typeof accessOf>, 'headers' | 'authTokenFile'>,
): Promise<ListedServer> {
  const target = { url, client: 'lean' as const, headers: await withToken(headers, authTokenFile) }
  const endpoint = await openEndpoint(target, readVersion())
  const { server, protocolVersion, tools } = endpoint
  await endpoint.close()
  return { server, protocolVersion, tools }
}
