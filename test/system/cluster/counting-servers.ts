import { APP_IMAGE } from '../pod-images.ts'

/** A server of MCP that writes the time of each call to its log. */
const SERVER = `
const tools = [{ name: 'work', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }]
const results = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'counting', version: '1' } }),
  'tools/list': () => ({ tools }),
  'tools/call': () => (console.log('call ' + Date.now()), { content: [{ type: 'text', text: 'fine' }] }),
}
require('node:http').createServer((request, response) => {
  let body = ''
  request.on('data', (part) => (body += part)).on('end', () => {
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method, params } = JSON.parse(body)
    if (id === undefined) return response.writeHead(202).end()
    response.setHeader('content-type', 'application/json')
    const result = results[method]?.(params)
    const error = { code: -32601, message: 'no such method' }
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) }))
  })
}).listen(3000, '::')`

/** Returns the Deployment of three such servers, with its Service and the rules of its team. */
export function countingServers(rules: string): string {
  const labels = { app: 'counting' }
  const annotations = { 'squall.dev/inject': 'true', 'squall.dev/environment': 'staging' }
  const server = {
    name: 'server',
    image: APP_IMAGE,
    imagePullPolicy: 'Never',
    command: ['node', '-e', SERVER],
    ports: [{ name: 'mcp', containerPort: 3000 }],
  }
  const spec = { terminationGracePeriodSeconds: 10, containers: [server] }
  const template = { metadata: { labels, annotations }, spec }
  const items = [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'squall-rules' },
      data: { 'rules.yaml': rules },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'counting' },
      spec: { selector: labels, ports: [{ name: 'mcp', port: 3000, targetPort: 'mcp' }] },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'counting' },
      spec: { replicas: 3, selector: { matchLabels: labels }, template },
    },
  ]
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
}
