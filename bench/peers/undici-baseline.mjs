import { fileURLToPath } from 'node:url'

const server = fileURLToPath(new URL('./undici-baseline-server.mjs', import.meta.url))

/** @type {import('./index.mjs').Peer} */
export const undiciBaseline = {
  name: 'undici-baseline',
  summary: 'node:http as server, undici.dispatch as client, each request body parsed',
  command: ({ port, upstreamPort }) => ({
    file: process.execPath,
    args: [server, String(port), String(upstreamPort)],
  }),
}
