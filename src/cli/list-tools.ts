import type { ToolInfo } from '../lab/load/clients/load-client.ts'
import { openEndpoint } from '../lab/load/clients/open-endpoint.ts'
import { readAs } from './files.ts'
import { tokenIn } from './load/load-inputs.ts'
import { readVersion } from './version.ts'

const MAX_TOKEN_FILE = 64 * 1024

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
  const bearer =
    authTokenFile === undefined
      ? {}
      : {
          authorization: `Bearer ${await readAs(authTokenFile, '--auth-token-file', MAX_TOKEN_FILE, tokenIn)}`,
        }
  const target = { url, client: 'lean' as const, headers: { ...headers, ...bearer } }
  const endpoint = await openEndpoint(target, readVersion())
  const { server, protocolVersion, tools } = endpoint
  await endpoint.close()
  return { server, protocolVersion, tools }
}
