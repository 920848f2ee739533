// Installs what parts need: packages of Debian, packages of npm, and tools of the system tests.
import { existsSync, readFileSync } from 'node:fs'
import { delimiter } from 'node:path'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { PACKAGES } from './parts.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const onPath = (program) =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .some((directory) => existsSync(`${directory}/${program}`))

/** Programs that being on `PATH` does not prove, and what does. */
const OTHERWISE = {
  // Debian's python3 comes without what is needed to make a virtual environment.
  python3: () => spawnSync('python3', ['-c', 'import venv, ensurepip']).status === 0,
  'cni-plugins': () => existsSync('/usr/lib/cni/bridge') || existsSync('/opt/cni/bin/bridge'),
}

const isThere = (program) => (OTHERWISE[program] ?? onPath)(program)

/** Installs the packages of programs that are missing; returns whether all are there. */
export function installPrograms(programs) {
  const missing = programs.filter((program) => !isThere(program))
  if (missing.length === 0) return true
  const packages = [...new Set(missing.map((program) => PACKAGES[program] ?? program))]
  console.log(`installing packages: ${packages.join(' ')}`)
  const apt = (...args) => spawnSync('apt-get', ['-q', ...args], { stdio: 'inherit' }).status === 0
  if (!onPath('apt-get')) console.log('apt-get is missing: install these packages by hand')
  else {
    if (!apt('update')) console.log('apt-get update failed; the lists on this machine are used')
    // One by one, so that a package that this release lacks costs no other.
    for (const name of packages) apt('install', '-y', '--no-install-recommends', name)
  }
  const still = missing.filter((program) => !isThere(program))
  if (still.length > 0) console.log(`still missing: ${still.join(' ')}`)
  return still.length === 0
}

/** Returns whether node_modules is what `npm ci` makes of the lock file. */
export function isInstalled() {
  const read = (path) => {
    try {
      return JSON.parse(readFileSync(`${ROOT}${path}`, 'utf8')).packages
    } catch {
      return {}
    }
  }
  const installed = read('node_modules/.package-lock.json')
  const wanted = Object.entries(read('package-lock.json'))
  return (
    existsSync(`${ROOT}node_modules/.package-lock.json`) &&
    wanted.every(
      ([path, { version, optional, peer }]) =>
        path === '' || optional || peer || installed[path]?.version === version,
    )
  )
}

/** Returns the commands that install what parts need beyond packages of the system. */
export function toolCommands(parts) {
  const tools = [...new Set(parts.flatMap((part) => part.tools ?? []))]
  const programs = [...new Set(parts.flatMap((part) => part.kubernetes?.split(' ') ?? []))]
  return [
    ...(tools.length > 0 ? [['sh', 'test/system/install.sh', ...tools]] : []),
    ...(programs.length > 0 ? [['sh', 'test/system/cluster/tools/build.sh', ...programs]] : []),
  ]
}
