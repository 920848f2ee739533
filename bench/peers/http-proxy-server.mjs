// A reverse proxy as the http-proxy package is meant to be used: keep-alive, nothing looked at.
import { Agent, createServer } from 'node:http'
import httpProxy from 'http-proxy'

const [port, upstreamPort] = process.argv.slice(2).map(Number)

const proxy = httpProxy.createProxyServer({
  target: `http://127.0.0.1:${upstreamPort}`,
  agent: new Agent({ keepAlive: true, maxSockets: 256, maxFreeSockets: 256 }),
})
proxy.on('error', (_error, _request, response) => {
  if ('writeHead' in response && !response.headersSent) response.writeHead(502).end()
  else response.destroy()
})

createServer((request, response) => proxy.web(request, response)).listen(port, '127.0.0.1')
process.once('SIGTERM', () => process.exit(0))
