import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { expect, it } from 'vitest'
import { oneFault } from '../faults/one-fault.ts'
import { closers } from '../support/closers.ts'
import { metricOf, startSidecar } from '../support/wire.ts'

const opened = closers()

/** A server of SDK v1 whose tools run as tasks. */
function taskServer(): RequestListener {
  const taskStore = new InMemoryTaskStore()
  const transports = new Map<string, StreamableHTTPServerTransport>()
  const connected = async (): Promise<StreamableHTTPServerTransport> => {
    const tasks = { requests: { tools: { call: {} } }, cancel: {} }
    const server = new McpServer(
      { name: 'tasks', version: '1.0.0' },
      { capabilities: { tasks }, taskStore },
    )
    for (const name of ['report', 'other']) {
      server.experimental.tasks.registerToolTask(
        name,
        { execution: { taskSupport: 'required' } },
        {
          createTask: async ({ taskStore: store }) => {
            const task = await store.createTask({ ttl: 60_000, pollInterval: 10 })
            const content = [{ type: 'text' as const, text: `done ${name}` }]
            await store.storeTaskResult(task.taskId, 'completed', { content })
            return { task }
          },
          getTask: ({ taskStore: store, taskId }) => store.getTask(taskId),
          getTaskResult: async ({ taskStore: store, taskId }) =>
            (await store.getTaskResult(taskId)) as { content: [] },
        },
      )
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void transports.set(id, transport),
    })
    await server.connect(transport)
    return transport
  }
  return (req, res) => {
    const known = transports.get(String(req.headers['mcp-session-id']))
    const transport = known === undefined ? connected() : Promise.resolve(known)
    void transport.then((to) => to.handleRequest(req, res))
  }
}

it('a real client meets a fault on the result of a task of one tool', async () => {
  const fault = 'abort: { rpcError: { code: -7, message: lost } }'
  const rules = [oneFault(fault, 'match: { method: tasks/result, tool: report }')]
  const stage = opened(await startSidecar({ upstream: taskServer(), rules }))
  const client = new Client({ name: 'client', version: '1.0.0' }, { capabilities: { tasks: {} } })
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', stage.url))
  await client.connect(transport)
  const last = async (name: string): Promise<string> => {
    let said = ''
    const params = { name, arguments: {} }
    const options = { task: { ttl: 60_000 } }
    for await (const each of client.experimental.tasks.callToolStream(params, undefined, options)) {
      said = JSON.stringify(each.type === 'error' ? each.error.message : each)
    }
    return said
  }
  await client.listTools()
  expect(await last('other')).toContain('done other')
  expect(await last('report')).toContain('lost')
  await client.close()
  const text = await stage.metrics()
  const labels = { tool: 'report', method: 'tasks/result', origin: 'injected' }
  expect(metricOf(text, 'squall_calls_total', labels)).toBe(1)
  expect(metricOf(text, 'squall_calls_total', { tool: 'report', method: 'tools/call' })).toBe(1)
})
