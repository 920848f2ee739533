import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  type CallToolResult,
  type ServerNotification,
  type ServerRequest,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js'
import { setTimeout as sleep } from 'node:timers/promises'
import { elicitationDefaults, elicitationEnums, person } from './conformance-forms.ts'

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>

/** A tool of the conformance fixture: how it is listed and what a call does. */
export interface FixtureTool {
  readonly description: string
  readonly inputSchema?: Tool['inputSchema']
  run(args: Record<string, unknown>, extra: Extra, closeStream: () => void): Promise<CallToolResult>
}

/** A PNG of one red pixel. */
export const redPixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

/** A WAV file without a sample. */
const silence = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA='

const stepMs = 50
const image = { type: 'image', data: redPixel, mimeType: 'image/png' } as const

/** The tools that the conformance suite calls, by name. */
export const conformanceTools: Record<string, FixtureTool> = {
  test_simple_text: fixed('Answers one text', text('This is a simple text response for testing.')),
  test_image_content: fixed('Answers one image', image),
  test_audio_content: fixed('Answers one sound', {
    type: 'audio',
    data: silence,
    mimeType: 'audio/wav',
  }),
  test_embedded_resource: fixed('Answers one resource', {
    type: 'resource',
    resource: {
      uri: 'test://embedded-resource',
      mimeType: 'text/plain',
      text: 'This is an embedded resource content.',
    },
  }),
  test_multiple_content_types: fixed(
    'Answers a text, an image and a resource',
    text('Multiple content types test:'),
    image,
    {
      type: 'resource',
      resource: {
        uri: 'test://mixed-content-resource',
        mimeType: 'application/json',
        text: '{"test":"data","value":123}',
      },
    },
  ),
  json_schema_2020_12_tool: {
    description: 'Is listed with a schema of the 2020-12 dialect',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
      additionalProperties: false,
    },
    run: async () => ({ content: [text('ok')] }),
  },
  test_error_handling: {
    description: 'Always fails',
    run: async () => ({
      isError: true,
      content: [text('This tool intentionally returns an error for testing')],
    }),
  },
  test_tool_with_logging: {
    description: 'Sends three log messages',
    run: async (_args, extra) => {
      for (const data of ['started', 'processing', 'completed']) {
        await log(extra, data)
        await sleep(stepMs)
      }
      return { content: [text('logged')] }
    },
  },
  test_tool_with_progress: {
    description: 'Reports its progress three times',
    run: async (_args, extra) => {
      const progressToken = extra._meta?.progressToken
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) {
          const params = { progressToken, progress, total: 100 }
          await extra.sendNotification({ method: 'notifications/progress', params })
        }
        await sleep(stepMs)
      }
      return { content: [text('done')] }
    },
  },
  test_reconnection: {
    description: 'Drops its stream before it answers',
    run: async (_args, extra, closeStream) => {
      // A client that is too old for priming events learns an event id from this message.
      await log(extra, 'about to drop the stream')
      closeStream()
      await sleep(stepMs)
      return { content: [text('answered after the stream was dropped')] }
    },
  },
  test_sampling: {
    description: 'Asks the client for a completion',
    inputSchema: {
      type: 'object',
      properties: { prompt: { type: 'string' } },
      required: ['prompt'],
    },
    run: async (args, extra) => {
      const result = await extra.sendRequest(
        {
          method: 'sampling/createMessage',
          params: {
            messages: [{ role: 'user', content: text(String(args['prompt'])) }],
            maxTokens: 100,
          },
        },
        CreateMessageResultSchema,
      )
      return { content: [text(`LLM response: ${JSON.stringify(result.content)}`)] }
    },
  },
  test_elicitation: {
    description: 'Asks the user for a name',
    inputSchema: {
      type: 'object',
      properties: { message: { type: 'string' } },
      required: ['message'],
    },
    run: (args, extra) => elicit(extra, String(args['message']), person),
  },
  test_elicitation_sep1034_defaults: {
    description: 'Asks the user with a default for each kind of field',
    run: (_args, extra) => elicit(extra, 'Defaults', elicitationDefaults),
  },
  test_elicitation_sep1330_enums: {
    description: 'Asks the user with each kind of choice',
    run: (_args, extra) => elicit(extra, 'Choices', elicitationEnums),
  },
}

function text(value: string): { type: 'text'; text: string } {
  return { type: 'text', text: value }
}

function fixed(description: string, ...content: CallToolResult['content']): FixtureTool {
  return { description, run: async () => ({ content }) }
}

async function log(extra: Extra, data: string): Promise<void> {
  await extra.sendNotification({
    method: 'notifications/message',
    params: { level: 'info', logger: 'fixture', data },
  })
}

async function elicit(
  extra: Extra,
  message: string,
  requestedSchema: typeof person,
): Promise<CallToolResult> {
  const result = await extra.sendRequest(
    { method: 'elicitation/create', params: { message, requestedSchema } },
    ElicitResultSchema,
  )
  const response = `action=${result.action}, content=${JSON.stringify(result.content ?? {})}`
  return { content: [text(`Elicitation completed: ${response}`)] }
}
