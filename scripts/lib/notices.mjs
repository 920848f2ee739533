import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The licences of the packages that modules are of, as they ask for wherever their code goes.
 * @param {readonly string[]} modules
 */
export async function noticesOf(modules) {
  const directories = new Set(modules.flatMap((id) => packageDirectory(id) ?? []))
  const notices = await Promise.all(
    [...directories].sort((one, other) => (one < other ? -1 : 1)).map(noticeOf),
  )
  return `Squall's program holds code of these packages.\n${notices.join('')}`
}

/** @param {string} id */
function packageDirectory(id) {
  // What the bundler puts in of its own.
  if (id.startsWith('\0rolldown/'))
    return fileURLToPath(new URL('../../node_modules/rolldown', import.meta.url))
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]
}

/** @param {string} folder */
async function noticeOf(directory) {
  const { name, version, license } = JSON.parse(
    await readFile(join(directory, 'package.json'), 'utf8'),
  )
  const file = (await readdir(directory)).find((entry) => /^licen[cs]e/i.test(entry))
  if (file === undefined)
    throw new Error(`${name} ${version} comes without the text of its licence`)
  const text = await readFile(join(directory, file), 'utf8')
  return `\n${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${text.trim()}\n`
}
