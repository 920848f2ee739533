import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import vm from 'node:vm'

/** A file of the program, as the build wraps it. */
type Wrapped = (
  exports: unknown,
  require: (id: string) => unknown,
  module: { exports: unknown },
  filename: string,
  directory: string,
  importModule: (id: string) => Promise<unknown>,
) => void

/** All files of the program lie in one directory, and so find the same packages. */
const ofPackages = createRequire(import.meta.url)
const modules = new Map<string, { exports: unknown }>()
/**
 * For one cache after the other: a buffer for each would be garbage that nothing at rest makes V8 collect.
 * What it is made smaller by goes back to the system.
 */
const room = new ArrayBuffer(0, { maxByteLength: 4 * 1024 * 1024 })

/**
 * Runs a file of the built program, and each that it requires, with what V8 kept of compiling it when
 * the cache was made. V8 looks itself whether that is of its own version, flags and text, and compiles
 * as ever where it is not; where there is none, this Node or machine is another one than it was made by.
 */
export function runScript(file: string): unknown {
  const known = modules.get(file)
  if (known !== undefined) return known.exports
  const module = { exports: {} }
  modules.set(file, module)
  const directory = dirname(file)
  const source = readFileSync(file, 'utf8')
  const cachedData = cacheOf(directory, file)
  const script = new vm.Script(source, {
    filename: file,
    ...(cachedData === undefined ? {} : { cachedData }),
  })
  room.resize(0)
  const wrapped = script.runInThisContext() as Wrapped
  const require = (id: string): unknown =>
    id.startsWith('./') ? runScript(join(directory, id)) : ofPackages(id)
  wrapped(module.exports, require, module, file, directory, importModule)
  return module.exports
}

/** For packages that are modules: scripts that V8 runs for others cannot import. */
function importModule(id: string): Promise<unknown> {
  return import(id)
}

/** Good until there is less room. */
function cacheOf(directory: string, file: string): Uint8Array | undefined {
  const { version, arch } = process
  const path = join(directory, '..', 'code-cache', `${version}-${arch}`, basename(file))
  let handle: number
  try {
    handle = openSync(path, 'r')
  } catch {
    return undefined
  }
  try {
    const { size } = fstatSync(handle)
    room.resize(size)
    const bytes = new Uint8Array(room)
    return readSync(handle, bytes) === size ? bytes : undefined
  } catch {
    return undefined
  } finally {
    closeSync(handle)
  }
}
