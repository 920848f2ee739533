import { readFileSync } from 'node:fs'

/** The version of the package that this file is part of. */
export function readVersion(): string {
  const file = new URL('../../package.json', import.meta.url)
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { readonly version?: string }
  return manifest.version ?? '0.0.0'
}
