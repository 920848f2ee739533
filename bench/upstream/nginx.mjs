import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../lib/proc.mjs'
import { NGINX_HTTP, NGINX_PREAMBLE, nginxArgs } from '../peers/nginx.mjs'

/** The longest text that an nginx `return` takes in one directive, with room to spare. */
const INLINE_LIMIT = 2048

/**
 * @param {number} port
 * @param {import('../lib/workloads.mjs').Workload} workload
 * @param {string} folder
 * @returns {import('../lib/children.mjs').Command}
 */
export function nginxUpstream(port, workload, folder) {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'nginx.conf')
  writeFileSync(join(folder, 'mcp'), workload.answer)
  // A file is not given in answer to POST; the page for that error may be the file itself.
  const answer =
    workload.answer.length <= INLINE_LIMIT
      ? `return 200 '${workload.answer.toString('utf8')}';`
      : `root ${folder}; error_page 405 =200 /mcp;`
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
      ${answer}
    }
  }
}
`,
  )
  return { file: findProgram('nginx') ?? 'nginx', args: nginxArgs(folder, file) }
}
