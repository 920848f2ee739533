// A client outside the pod: an MCP client of the SDK, and a kubelet that asks for probes.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

let client

async function connect({ url }) {
  client = new Client({ name: 'outside', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  return (await client.listTools()).tools.map(({ name }) => name)
}

/** Makes a call and returns its result in one line. */
async function call({ tool, args }) {
  try {
    const { isError, content } = await client.callTool({ name: tool, arguments: args })
    return `${isError ? 'error' : 'ok'}: ${content[0].text}`
  } catch (error) {
    return `failed: ${error.cause?.message ?? error.message}`
  }
}

/** A probe as the kubelet makes it. */
async function probe({ url }) {
  try {
    const headers = { 'user-agent': 'kube-probe/1.33', connection: 'close' }
    const response = await fetch(url, { headers, redirect: 'manual' })
    return {
      status: response.status,
      marker: response.headers.get('x-squall-fault'),
      text: await response.text(),
    }
  } catch (error) {
    return { status: 0, marker: null, text: String(error.cause?.code ?? error.message) }
  }
}

/** Calls a tool without an MCP client, of which each pod would need one. */
async function post({ url, tool }) {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool } }
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  try {
    const body = JSON.stringify(message)
    const response = await fetch(url, { method: 'POST', headers, body })
    const marker = response.headers.get('x-squall-fault')
    return { status: response.status, marker, text: await response.text() }
  } catch (error) {
    return { status: 0, marker: null, text: String(error.cause?.code ?? error.message) }
  }
}

const operations = { connect, call, probe, post }

async function responded({ id, operation, ...given }) {
  const answer = await operations[operation](given).catch((error) => `thrown: ${error.message}`)
  process.send({ id, response: answer })
}

process.on('message', (message) => void responded(message))
process.on('disconnect', () => process.exit())
