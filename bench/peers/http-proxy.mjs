import { fileURLToPath } from 'node:url'

const server = fileURLToPath(new URL('./http-proxy-server.mjs', import.meta.url))

/** @type {import('./index.mjs').Peer} */
export const httpProxy = {
  name: 'http-proxy',
  summary: 'http-proxy 1.18 with a keep-alive agent',
  command: ({ port, upstreamPort }) => ({
    file: process.execPath,
    args: [server, String(port), String(upstreamPort)],
    // Its use of util._extend prints a deprecation, which would only hide a real complaint.
    env: { NODE_NO_WARNINGS: '1' },
  }),
}
