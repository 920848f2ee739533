import { isRecord } from '../../../base/values.ts'
import { isModern } from '../../../mcp/protocol-version.ts'
import { toolHint } from '../choose-tools.ts'
import { endpointError } from './endpoint-error.ts'
import { LeanClient } from './lean-client.ts'
import { ask, findProtocolVersion } from './lean-handshake.ts'
import { LeanWire, type Speaking } from './lean-wire.ts'
import type { Endpoint, ToolInfo } from './load-client.ts'
import type { LoadTarget } from '../load-options.ts'

const MAX_PAGES = 100
/** More tools than this are not read. */
const MAX_TOOLS = 5000

/** Finds out what is at the target. Throws a `LoadError` when it cannot be called. */
export async function openLeanEndpoint(target: LoadTarget, version: string): Promise<Endpoint> {
  const wire = new LeanWire(target, version)
  try {
    const { server, speaking } = await findProtocolVersion(wire, target.protocolVersion)
    const tools = await listTools(wire, speaking)
    if (!isModern(speaking.protocolVersion) && speaking.session !== undefined)
      await wire.end(speaking)
    return {
      server,
      protocolVersion: speaking.protocolVersion,
      tools,
      connect: () => LeanClient.open(wire, speaking.protocolVersion),
      close: () => wire.close(),
    }
  } catch (error) {
    await wire.close()
    throw error
  }
}

async function listTools(wire: LeanWire, speaking: Speaking): Promise<ToolInfo[]> {
  const tools: ToolInfo[] = []
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const response = await ask(wire, 'tools/list', params, speaking)
    if (response.kind === 'rpc' && response.code === -32601) return []
    if (response.kind !== 'ok' || !isRecord(response.result)) throw endpointError(response)
    const { tools: listed, nextCursor } = response.result
    for (const tool of Array.isArray(listed) ? (listed as readonly unknown[]) : []) {
      const info = toolInfo(tool)
      if (info !== undefined) tools.push(info)
    }
    if (typeof nextCursor !== 'string') return tools
    cursor = nextCursor
  }
  return tools
}

/** A listed tool; undefined when it has no name. */
function toolInfo(tool: unknown): ToolInfo | undefined {
  if (!isRecord(tool)) return undefined
  const { name, inputSchema, outputSchema, annotations } = tool
  if (typeof name !== 'string' || name === '') return undefined
  return { name, inputSchema, outputSchema, hint: toolHint(annotations) }
}
