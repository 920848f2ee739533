import { fileURLToPath } from 'node:url'

const server = fileURLToPath(new URL('./http-proxy-server.mjs', import.meta.url))

/** @type {import('./index.mjs').Peer} */
export const httpProxy = {
  name: 'http-proxy',
  summary: 'http-proxy-node16 1.0 with a keep-alive agent',
  command: ({ port, upstreamPort }) => ({
    file: process.execPath,
    args: [server, String(port), String(upstreamPort)],
  }),
}
