import { existsSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasRepository, publishedUrl } from '../base/manifest.ts'
import { type SchemaKind, schemaPath } from '../rules/file/schema-text.ts'

/**
 * Returns the line by which editors check a file in a directory: by a path in every clone of its
 * project, or by an address. Empty while there is neither.
 */
export function schemaLine(kind: SchemaKind, directory: string): string {
  const path = schemaPath(kind)
  const file = deployFile(`${kind}.schema.json`)
  const inProject = relative(projectOf(resolve(directory)), file)
  if (!inProject.startsWith('..') && existsSync(file)) return line(relative(directory, file))
  return hasRepository() ? line(publishedUrl(path)) : ''
}

function line(schema: string): string {
  return `# yaml-language-server: $schema=${schema}\n`
}

/** Returns the nearest directory above that is a clone or a package of npm; else the directory. */
function projectOf(directory: string): string {
  for (let at = directory; at !== dirname(at); at = dirname(at)) {
    if (existsSync(join(at, '.git')) || existsSync(join(at, 'package.json'))) return at
  }
  return directory
}

/** Returns the path of an installed file below deploy. */
export function deployFile(name: string): string {
  return fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url))
}
