// The doors through which packages import the source of the root, for tests, which run from source.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const { paths } = JSON.parse(readFileSync(`${ROOT}tsconfig.json`, 'utf8')).compilerOptions

/** For `resolve.alias` of vite. */
export const ALIASES = [
  ...Object.entries(paths).map(([door, [path]]) => ({ find: door, replacement: ROOT + path })),
  // Compiled by the build; a package has no imports of its own.
  { find: /^#checks\/(.*)$/, replacement: `${ROOT}build/checks/$1.js` },
]
