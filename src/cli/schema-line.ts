import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Returns the line by which editors check a file in a directory; empty where no schema is
 * installed.
 */
export function schemaLine(kind: 'rules' | 'experiment', directory: string): string {
  const file = fileURLToPath(new URL(`../../deploy/${kind}.schema.json`, import.meta.url))
  return existsSync(file) ? `# yaml-language-server: $schema=${relative(directory, file)}\n` : ''
}
