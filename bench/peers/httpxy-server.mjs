// A reverse proxy as the httpxy package is meant to be used: keep-alive, nothing looked at.
import { Agent, createServer } from 'node:http'
import { createProxyServer } from 'httpxy'

const [port, upstreamPort] = process.argv.slice(2).map(Number)

const proxy = createProxyServer({
  target: `http://127.0.0.1:${upstreamPort}`,
  agent: new Agent({ keepAlive: true, maxSockets: 4096, maxFreeSockets: 256 }),
})
proxy.on('error', (_error, _request, response) => {
  if ('writeHead' in response && !response.headersSent) response.writeHead(502).end()
  else response?.destroy()
})

const server = createServer((request, response) => {
  proxy.web(request, response).catch(() => response.destroy())
})
server.listen(port, '127.0.0.1', 4096)
process.once('SIGTERM', () => process.exit(0))
