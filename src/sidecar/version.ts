import { readFileSync } from 'node:fs'

/** Returns the version of this package. */
export function readVersion(): string {
  const file = new URL('../../package.json', import.meta.url)
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { readonly version?: string }
  return manifest.version ?? '0.0.0'
}
