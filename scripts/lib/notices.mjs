import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Returns the packages whose code the modules hold, each with the text of its licence.
 * @param {readonly string[]} modules
 */
export async function packagesOf(modules) {
  const directories = new Set(modules.flatMap((id) => packageDirectory(id) ?? []))
  return Promise.all([...directories].sort((one, other) => (one < other ? -1 : 1)).map(readPackage))
}

/** @param {Awaited<ReturnType<typeof packagesOf>>} packages */
export function noticesOf(packages) {
  const notices = packages.map(
    ({ name, version, license, text }) =>
      `\n${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${text}\n`,
  )
  return `Squall's program holds code of these packages.\n${notices.join('')}`
}

/** @param {string} id */
function packageDirectory(id) {
  // Code that the bundler adds.
  if (id.startsWith('\0rolldown/'))
    return fileURLToPath(new URL('../../node_modules/rolldown', import.meta.url))
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]
}

/** @param {string} directory */
async function readPackage(directory) {
  const { name, version, license } = JSON.parse(
    await readFile(join(directory, 'package.json'), 'utf8'),
  )
  const file = (await readdir(directory)).find((entry) => /^licen[cs]e/i.test(entry))
  if (file === undefined)
    throw new Error(`${name} ${version} comes without the text of its licence`)
  const text = await readFile(join(directory, file), 'utf8')
  return { name, version, license, text: text.trim() }
}
