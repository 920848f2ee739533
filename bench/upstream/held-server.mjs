// Answers every request with an SSE stream that says one thing and then stays open.
import { createServer } from 'node:http'

const EVENT = 'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n'

const server = createServer((request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  response.write(EVENT)
})
server.requestTimeout = 0
server.listen(Number(process.argv[2]), '127.0.0.1', 4096)
process.once('SIGTERM', () => process.exit(0))
