import { ProtocolError, Server } from '@modelcontextprotocol/server'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv'
import { listed, resultOf, TOOL_ERROR } from './tool.ts'

const jsonSchemaValidator = new AjvJsonSchemaValidator()

/** The same as a server of protocol version 2026-07-28. */
export function modernServer(ran: (tool: string) => void): Server {
  const server = new Server(
    { name: 'matrix', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } }, jsonSchemaValidator },
  )
  server.setRequestHandler('tools/list', (_, { http }) => ({
    tools: [listed(http?.req?.headers.get('x-cell') ?? '')],
    ttlMs: 0,
    cacheScope: 'private' as const,
  }))
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    ran(params.name)
    const progressToken = context.mcpReq._meta?.progressToken
    if (progressToken !== undefined) {
      const step = { progressToken, progress: 1 }
      await context.mcpReq.notify({ method: 'notifications/progress', params: step })
    }
    const fail = params.name === 'next' ? undefined : context.http?.req?.headers.get('x-fail-by')
    if (fail === 'tool never ends') await new Promise(() => undefined)
    if (fail === 'rpc error') throw new ProtocolError(-32603, TOOL_ERROR)
    if (fail === 'tool error') {
      return { isError: true, content: [{ type: 'text' as const, text: TOOL_ERROR }] }
    }
    return resultOf(params.arguments?.['n'])
  })
  return server
}
