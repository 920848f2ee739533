// A baseline for the cost of a delay in bare Node: connects two sockets and lets a percentage of
// the pieces wait for a timer. One read is one call here, as a connection carries one call at a
// time.
import { connect, createServer } from 'node:net'

const [port, upstreamPort, percent = 0, delayMs] = process.argv.slice(2).map(Number)

const server = createServer({ noDelay: true }, (client) => {
  const app = connect({ port: upstreamPort, host: '127.0.0.1', noDelay: true })
  client.on('error', () => app.destroy())
  app.on('error', () => client.destroy())
  client.on('close', () => app.destroy())
  app.on('close', () => client.destroy())
  client.on('data', (call) => {
    if (Math.random() * 100 < percent) setTimeout(() => app.write(call), delayMs)
    else app.write(call)
  })
  app.on('data', (response) => client.write(response))
})
server.listen(port, '127.0.0.1', 4096)
process.once('SIGTERM', () => process.exit(0))
