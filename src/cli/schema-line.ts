import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Returns the line by which editors check a file in a directory; empty where no schema is
 * installed.
 */
export function schemaLine(kind: 'rules' | 'experiment' | 'policy', directory: string): string {
  const file = deployFile(`${kind}.schema.json`)
  return existsSync(file) ? `# yaml-language-server: $schema=${relative(directory, file)}\n` : ''
}

/** Returns the path of an installed file below deploy. */
export function deployFile(name: string): string {
  return fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url))
}
