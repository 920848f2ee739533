import { fileURLToPath } from 'node:url'

const server = fileURLToPath(new URL('./plain-server.mjs', import.meta.url))

/**
 * @param {number} port
 * @param {string} workloadName
 * @returns {import('../lib/children.mjs').Command}
 */
export function plainUpstream(port, workloadName) {
  return { file: process.execPath, args: [server, String(port), workloadName] }
}
