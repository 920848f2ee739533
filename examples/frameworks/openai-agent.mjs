// Runs an agent built with OpenAI Agents for JavaScript with default settings.
import { Agent, MCPServerStreamableHttp, run, setTracingDisabled, Usage } from '@openai/agents'
import { Script } from './script.mjs'

const script = new Script()
const model = {
  getResponse: ({ input }) => {
    const last = input.at(-1)
    const call = script.next(last.output?.text ?? last.output)
    const output =
      call === undefined
        ? {
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: 'done' }],
          }
        : {
            type: 'function_call',
            callId: `call-${input.length}`,
            name: call.name,
            status: 'completed',
            arguments: JSON.stringify(call.args),
          }
    return Promise.resolve({ usage: new Usage(), output: [output] })
  },
  getStreamedResponse: () => {
    throw new Error('not used')
  },
}

setTracingDisabled(true)
const server = new MCPServerStreamableHttp({ url: process.env.MCP_URL, name: 'trips' })
await server.connect()
await run(new Agent({ name: 'trips', model, mcpServers: [server] }), 'Book a trip to Lisbon.')
await server.close()
