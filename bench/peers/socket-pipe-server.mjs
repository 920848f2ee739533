// The floor for a proxy in Node: two sockets piped to each other, nothing read, nothing parsed.
import { connect, createServer } from 'node:net'

const [port, upstreamPort] = process.argv.slice(2).map(Number)

const server = createServer({ noDelay: true }, (client) => {
  const app = connect({ port: upstreamPort, host: '127.0.0.1', noDelay: true })
  client.on('error', () => app.destroy())
  app.on('error', () => client.destroy())
  client.on('close', () => app.destroy())
  app.on('close', () => client.destroy())
  client.pipe(app)
  app.pipe(client)
})
server.listen(port, '127.0.0.1', 4096)
process.once('SIGTERM', () => process.exit(0))
