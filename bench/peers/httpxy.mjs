import { fileURLToPath } from 'node:url'

const server = fileURLToPath(new URL('./httpxy-server.mjs', import.meta.url))

/** @type {import('./index.mjs').Peer} */
export const httpxy = {
  name: 'httpxy',
  summary: 'httpxy with a keep-alive agent',
  missing: () => {
    try {
      import.meta.resolve('httpxy')
      return undefined
    } catch {
      return 'the package httpxy is not installed (npm install)'
    }
  },
  command: ({ port, upstreamPort }) => ({
    file: process.execPath,
    args: [server, String(port), String(upstreamPort)],
  }),
}
