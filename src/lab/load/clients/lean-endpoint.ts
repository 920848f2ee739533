import { isRecord } from '../../../base/values.ts'
import { isModern } from '../../../mcp/protocol-version.ts'
import { toolHint } from '../choose-tools.ts'
import { endpointError } from './endpoint-error.ts'
import { LeanClient } from './lean-client.ts'
import { ask, findRevision } from './lean-handshake.ts'
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
    const { server, speaking } = await findRevision(wire, target.revision)
    const tools = await listTools(wire, speaking)
    if (!isModern(speaking.revision) && speaking.session !== undefined) await wire.end(speaking)
    return {
      server,
      revision: speaking.revision,
      tools,
      connect: () => LeanClient.open(wire, speaking.revision),
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
    const answer = await ask(wire, 'tools/list', params, speaking)
    if (answer.kind === 'rpc' && answer.code === -32601) return []
    if (answer.kind !== 'ok' || !isRecord(answer.result)) throw endpointError(answer)
    const { tools: listed, nextCursor } = answer.result
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
