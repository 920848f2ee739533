import { fileURLToPath } from 'node:url'

const server = fileURLToPath(new URL('./socket-pipe-server.mjs', import.meta.url))

/** @type {import('./index.mjs').Peer} */
export const socketPipe = {
  name: 'socket-pipe',
  summary: 'two piped Node sockets, no parsing',
  command: ({ port, upstreamPort }) => ({
    file: process.execPath,
    args: [server, String(port), String(upstreamPort)],
  }),
}
