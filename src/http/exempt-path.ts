const EXACT: ReadonlySet<string> = new Set([
  '/authorize',
  '/token',
  '/register',
  '/revoke',
  '/introspect',
  '/oauth',
  '/oauth2',
  '/.well-known',
  '/health',
  '/healthz',
  '/livez',
  '/readyz',
  '/ready',
  '/live',
  '/ping',
  '/metrics',
])
const DIRECTORIES = ['/oauth/', '/oauth2/', '/health/', '/healthz/', '/livez/', '/readyz/'] as const

/** Returns true for paths that a rule must name explicitly: discovery, OAuth and health probes. */
export function isExemptPath(path: string): boolean {
  // OpenID discovery may be below the issuer's path, so the directory counts at any depth.
  if (path.includes('/.well-known/')) return true
  const bare = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
  return EXACT.has(bare) || DIRECTORIES.some((directory) => path.startsWith(directory))
}
