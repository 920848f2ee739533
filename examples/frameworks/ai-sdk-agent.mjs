// Runs an AI SDK agent with default settings.
import { createMCPClient } from '@ai-sdk/mcp'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { Script } from './script.mjs'

const script = new Script()
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const model = new MockLanguageModelV4({
  doGenerate: ({ prompt }) => {
    const { output } = prompt.at(-1).content.at(-1)
    const isError = output?.type.startsWith('error')
    const call = script.next(isError ? `error: ${JSON.stringify(output)}` : output)
    const content =
      call === undefined
        ? { type: 'text', text: 'done' }
        : {
            type: 'tool-call',
            toolCallId: `call-${prompt.length}`,
            toolName: call.name,
            input: JSON.stringify(call.args),
          }
    const unified = call === undefined ? 'stop' : 'tool-calls'
    return Promise.resolve({ content: [content], finishReason: { unified }, usage, warnings: [] })
  },
})

const client = await createMCPClient({ transport: { type: 'http', url: process.env.MCP_URL } })
const agent = new ToolLoopAgent({ model, tools: await client.tools() })
await agent.generate({ prompt: 'Book a trip to Lisbon.' })
await client.close()
