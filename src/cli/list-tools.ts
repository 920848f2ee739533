import type { ToolInfo } from '../lab/load/clients/load-client.ts'
import { openEndpoint } from '../lab/load/clients/open-endpoint.ts'
import { withToken } from './flags/server.ts'
import { readVersion } from './version.ts'

/** An MCP server with its tools. */
export interface ListedServer {
  readonly server: string
  readonly protocolVersion: string
  readonly tools: readonly ToolInfo[]
}

/** Asks an MCP server for its tools. Throws a `LoadError` or a `UsageError`. */
export async function listTools({
  url,
  headers,
  authTokenFile,
}: {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly authTokenFile: string | undefined
}): Promise<ListedServer> {
  const target = { url, client: 'lean' as const, headers: await withToken(headers, authTokenFile) }
  const endpoint = await openEndpoint(target, readVersion())
  const { server, protocolVersion, tools } = endpoint
  await endpoint.close()
  return { server, protocolVersion, tools }
}
