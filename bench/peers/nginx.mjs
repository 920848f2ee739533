import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../lib/proc.mjs'

/** @type {import('./index.mjs').Peer} */
export const nginx = {
  name: 'nginx',
  summary: 'nginx, one process, unbuffered responses; does not read the body',
  missing: () => (findProgram('nginx') ? undefined : 'nginx is not installed'),
  command: ({ port, upstreamPort, directory }) => {
    mkdirSync(directory, { recursive: true })
    const file = join(directory, 'nginx.conf')
    writeFileSync(file, configuration(port, upstreamPort))
    return { file: findProgram('nginx') ?? 'nginx', args: nginxArgs(directory, file) }
  },
}

/**
 * Keeps every path inside its own directory, so that nothing of the machine's own nginx is touched.
 * @param {string} directory
 * @param {string} file
 */
export function nginxArgs(directory, file) {
  return ['-p', `${directory}/`, '-e', 'stderr', '-c', file]
}

export const NGINX_PREAMBLE = `
daemon off;
master_process off;
worker_processes 1;
pid nginx.pid;
error_log stderr error;
events { worker_connections 8192; }
`

export const NGINX_HTTP = `
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  client_max_body_size 64m;
  client_body_buffer_size 256k;
  keepalive_requests 1000000000;
  keepalive_timeout 300s;
  tcp_nodelay on;
`

/** @param {number} port @param {number} upstreamPort */
function configuration(port, upstreamPort) {
  return `${NGINX_PREAMBLE}
http {
  ${NGINX_HTTP}
  upstream app {
    server 127.0.0.1:${upstreamPort};
    keepalive 256;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://app;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_buffering off;
      proxy_buffer_size 64k;
      proxy_buffers 8 64k;
      proxy_busy_buffers_size 128k;
      proxy_read_timeout 300s;
    }
  }
}
`
}
