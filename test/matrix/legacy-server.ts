import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  McpError,
  type CallToolResult,
} from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import { listed, resultOf, TOOL_ERROR } from './tool.ts'

const jsonSchemaValidator = new AjvJsonSchemaValidator()

/** A server of SDK v1 that has any requested tool, and reports progress and each call. */
export function legacyServer(ran: (tool: string) => void): Server {
  const server = new Server(
    { name: 'matrix', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } }, jsonSchemaValidator },
  )
  server.setRequestHandler(ListToolsRequestSchema, (_, { requestInfo }) => ({
    tools: [listed(String(requestInfo?.headers['x-cell']))],
  }))
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params }, extra): Promise<CallToolResult> => {
      ran(params.name)
      const progressToken = extra._meta?.progressToken
      if (progressToken !== undefined) {
        await extra.sendNotification({
          method: 'notifications/progress',
          params: { progressToken, progress: 1 },
        })
      }
      const fail = params.name === 'next' ? undefined : extra.requestInfo?.headers['x-fail-by']
      if (fail === 'tool never ends') await new Promise(() => undefined)
      if (fail === 'rpc error') throw new McpError(-32603, TOOL_ERROR)
      if (fail === 'tool error') {
        return { isError: true, content: [{ type: 'text', text: TOOL_ERROR }] }
      }
      return resultOf(params.arguments?.['n'])
    },
  )
  return server
}
