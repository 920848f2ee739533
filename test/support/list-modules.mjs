// For --import: writes everything that the program loads to the file that LOADED_MODULES names, one a line.
import { appendFileSync } from 'node:fs'
import { createRequire, register } from 'node:module'

const file = process.env.LOADED_MODULES ?? ''

/** Runs in a thread of Node's own: what is imported passes here. */
const hooks = `
import { appendFileSync } from 'node:fs'
let file
export function initialize(given) { file = given }
export async function resolve(specifier, context, next) {
  const resolved = await next(specifier, context)
  appendFileSync(file, resolved.url + '\\n')
  return resolved
}`
register(`data:text/javascript,${encodeURIComponent(hooks)}`, { data: file })

// What packages require of each other does not, and neither do modules of Node's that are asked for by call.
const { cache } = createRequire(import.meta.url)
process.once('exit', () => {
  const ofNode = process.moduleLoadList.map((loaded) => loaded.replace('NativeModule ', 'loaded:'))
  appendFileSync(file, [...Object.keys(cache), ...ofNode].join('\n'))
})
