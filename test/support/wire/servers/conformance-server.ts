import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
  type GetPromptResult,
  type ReadResourceResult,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js'
import { conformanceTools, redPixel } from './conformance-tools.ts'
import { MemoryEventStore } from './event-store.ts'
import { hostSessions, type SessionHost } from './session-host.ts'

/** Starts a server with all that the conformance suite asks of one. */
export function conformanceServer(): Promise<SessionHost> {
  return hostSessions({
    eventStore: new MemoryEventStore(),
    retryMs: 100,
    connect: (transport) =>
      conformanceSession((id) => transport.closeSSEStream(id)).connect(transport),
  })
}

/** Returns the server of one session; `closeStream` ends the stream of a request. */
export function conformanceSession(closeStream: (id: RequestId) => void): Server {
  const server = new Server(
    { name: 'conformance-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: {},
        resources: { subscribe: true },
        prompts: {},
        logging: {},
        completions: {},
      },
    },
  )
  serveTools(server, closeStream)
  serveResources(server)
  servePrompts(server)
  server.setRequestHandler(CompleteRequestSchema, () => ({
    completion: { values: ['paris', 'park', 'party'], total: 3, hasMore: false },
  }))
  return server
}

function serveTools(server: Server, closeStream: (id: RequestId) => void): void {
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.entries(conformanceTools).map(([name, tool]) => ({
      name,
      description: tool.description,
      inputSchema: tool.inputSchema ?? { type: 'object', properties: {} },
    })),
  }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
    const tool = conformanceTools[params.name]
    if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `No tool ${params.name}`)
    return tool.run(params.arguments ?? {}, extra, () => closeStream(extra.requestId))
  })
}

function serveResources(server: Server): void {
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: ['test://static-text', 'test://static-binary', 'test://watched-resource'].map(named),
  }))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [
      { uriTemplate: 'test://template/{id}/data', name: 'template', description: 'A fixture' },
    ],
  }))
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => readResource(params.uri))
  server.setRequestHandler(SubscribeRequestSchema, () => ({}))
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}))
}

function named(uri: string): { uri: string; name: string; description: string } {
  return { uri, name: uri.slice('test://'.length), description: 'A fixture' }
}

function readResource(uri: string): ReadResourceResult {
  if (uri === 'test://static-binary') {
    return { contents: [{ uri, mimeType: 'image/png', blob: redPixel }] }
  }
  if (uri === 'test://static-text' || uri === 'test://watched-resource') {
    const text = 'This is the content of the static text resource.'
    return { contents: [{ uri, mimeType: 'text/plain', text }] }
  }
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  if (id === undefined) throw new McpError(ErrorCode.InvalidParams, `No resource ${uri}`)
  const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
  return { contents: [{ uri, mimeType: 'application/json', text }] }
}

type Content = GetPromptResult['messages'][number]['content']

const prompts: Record<string, (args: Record<string, string>) => Content[]> = {
  test_simple_prompt: () => [{ type: 'text', text: 'This is a simple prompt for testing.' }],
  test_prompt_with_arguments: (args) => [
    { type: 'text', text: `Prompt with arguments: arg1='${args['arg1']}', arg2='${args['arg2']}'` },
  ],
  test_prompt_with_embedded_resource: (args) => [
    {
      type: 'resource',
      resource: {
        uri: args['resourceUri'] ?? '',
        mimeType: 'text/plain',
        text: 'Embedded resource content for testing.',
      },
    },
    { type: 'text', text: 'Please process the embedded resource above.' },
  ],
  test_prompt_with_image: () => [
    { type: 'image', data: redPixel, mimeType: 'image/png' },
    { type: 'text', text: 'Please analyze the image above.' },
  ],
}

const promptArguments: Record<string, string[]> = {
  test_prompt_with_arguments: ['arg1', 'arg2'],
  test_prompt_with_embedded_resource: ['resourceUri'],
}

function servePrompts(server: Server): void {
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: Object.keys(prompts).map((name) => ({
      name,
      description: 'A fixture',
      arguments: (promptArguments[name] ?? []).map((argument) => ({
        name: argument,
        description: 'An argument',
        required: true,
      })),
    })),
  }))
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => {
    const content = prompts[params.name]?.(params.arguments ?? {})
    if (content === undefined)
      throw new McpError(ErrorCode.InvalidParams, `No prompt ${params.name}`)
    return { messages: content.map((part) => ({ role: 'user' as const, content: part })) }
  })
}
