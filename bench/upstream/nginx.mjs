import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../lib/proc.mjs'
import { NGINX_HTTP, NGINX_PREAMBLE, nginxArgs } from '../peers/nginx.mjs'

/** The longest text that an nginx `return` takes in one directive, with room to spare. */
const INLINE_LIMIT = 2048
/** Characters that an nginx string does not take as they are. */
const SPECIAL = /['\\$]/

/**
 * @param {number} port
 * @param {import('../lib/workloads.mjs').Workload} workload
 * @param {string} directory
 * @returns {import('../lib/children.mjs').Command}
 */
export function nginxUpstream(port, workload, directory) {
  mkdirSync(directory, { recursive: true })
  const file = join(directory, 'nginx.conf')
  writeFileSync(join(directory, 'mcp'), workload.response)
  // A file is not given in answer to POST; the page for that error may be the file itself.
  const text = workload.response.toString('utf8')
  const response =
    workload.response.length <= INLINE_LIMIT && !SPECIAL.test(text)
      ? `return 200 '${text}';`
      : `root ${directory}; error_page 405 =200 /mcp;`
  writeFileSync(
    file,
    `${NGINX_PREAMBLE}
http {
  ${NGINX_HTTP}
  sendfile on;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location = /mcp {
      default_type ${workload.contentType};
      ${response}
    }
  }
}
`,
  )
  return { file: findProgram('nginx') ?? 'nginx', args: nginxArgs(directory, file) }
}
