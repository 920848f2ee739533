// For --import: writes everything that the program loads to the file that LOADED_MODULES names, one
// a line.
import { appendFileSync } from 'node:fs'
import { createRequire, isBuiltin, Module, register } from 'node:module'

const file = process.env.LOADED_MODULES ?? ''
const note = (/** @type {string} */ loaded) => appendFileSync(file, `${loaded}\n`)

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

/** Modules of Node's that are required by name. */
const { _load: load } = Module
Module._load = (/** @type {string} */ id, /** @type {unknown[]} */ ...rest) => {
  if (isBuiltin(id)) note(id.startsWith('node:') ? id : `node:${id}`)
  return load(id, ...rest)
}

// Files that are required, and modules of Node's that are loaded by a call.
const { cache } = createRequire(import.meta.url)
process.once('exit', () => {
  const ofNode = process.moduleLoadList.map((loaded) => loaded.replace('NativeModule ', 'loaded:'))
  appendFileSync(file, [...Object.keys(cache), ...ofNode].join('\n'))
})
