// Runs an agent built with LangChain for JavaScript with default settings.
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage } from '@langchain/core/messages'
import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { createAgent } from 'langchain'
import { Script } from './script.mjs'

const script = new Script()

class Scripted extends BaseChatModel {
  _llmType() {
    return 'scripted'
  }

  bindTools() {
    return this
  }

  _generate(messages) {
    const call = script.next(messages.at(-1).content)
    const message =
      call === undefined
        ? new AIMessage('done')
        : new AIMessage({ content: '', tool_calls: [{ ...call, id: `call-${messages.length}` }] })
    return Promise.resolve({ generations: [{ text: '', message }] })
  }
}

const client = new MultiServerMCPClient({ trips: { transport: 'http', url: process.env.MCP_URL } })
const agent = createAgent({ model: new Scripted({}), tools: await client.getTools() })
await agent.invoke({ messages: [{ role: 'user', content: 'Book a trip to Lisbon.' }] })
await client.close()
