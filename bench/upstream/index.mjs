import { join } from 'node:path'
import { freePort, startChild, waitUntilAccepting } from '../lib/children.mjs'
import { findProgram } from '../lib/proc.mjs'
import { nginxUpstream } from './nginx.mjs'
import { plainUpstream } from './plain.mjs'

/**
 * Starts the server behind the proxies: nginx where it can give the response, as it costs least.
 * @param {import('../lib/workloads.mjs').Workload} workload
 * @param {string} directory
 * @param {{ holds?: boolean }} [asked]  whether it must also hold streams open
 */
export async function startUpstream(workload, directory, { holds = false } = {}) {
  const port = await freePort()
  const withNginx = !holds && workload.events === 0 && findProgram('nginx') !== undefined
  const kind = withNginx ? 'nginx' : 'node net'
  const command = withNginx
    ? nginxUpstream(port, workload, join(directory, 'upstream'))
    : plainUpstream(port, workload.name)
  const child = await startChild(`upstream (${kind})`, command)
  await waitUntilAccepting(child, port)
  return { child, port, kind }
}
