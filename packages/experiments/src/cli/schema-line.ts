import { existsSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { deployFile, hasRepository, publishedUrl } from '#base'

/**
 * Returns the line by which editors check a file in a directory: by a path in every clone of its
 * project, or by an address. Empty while there is neither.
 */
export function schemaLine(kind: 'rules' | 'experiment' | 'policy', directory: string): string {
  const name = `${kind}.schema.json`
  const file = deployFile(name)
  const inProject = relative(projectOf(resolve(directory)), file)
  if (!inProject.startsWith('..') && existsSync(file)) return line(relative(directory, file))
  return hasRepository() ? line(publishedUrl(`deploy/${name}`)) : ''
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
