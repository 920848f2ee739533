import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { parse } from 'yaml'
import { type Fields, isRecord, listOf, textOf } from '../../base/values.ts'
import { assertShallow, DeepYamlError } from '../../base/yaml/yaml-depth.ts'
import { KubeError } from './kube-error.ts'
import { readKubeFile } from './kube-file.ts'

/** A named part of a kubeconfig, and the directory that its relative paths start from. */
export interface KubeconfigPart {
  readonly fields: Fields
  readonly directory: string
  readonly file: string
}

/** Several files read as one: of two parts of one name the first counts. */
export interface Kubeconfig {
  readonly files: readonly string[]
  readonly currentContext: string | undefined
  readonly clusters: ReadonlyMap<string, KubeconfigPart>
  readonly users: ReadonlyMap<string, KubeconfigPart>
  readonly contexts: ReadonlyMap<string, KubeconfigPart>
}

/** The files that are asked for: those given, else those of KUBECONFIG, else the one in the home directory. */
export function kubeconfigPaths(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  if (given !== undefined) return [given]
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  if (listed.length > 0) return listed
  const home = env['HOME'] ?? env['USERPROFILE']
  return home === undefined ? [] : [join(home, '.kube', 'config')]
}

/** Reads the files; of several, those that are not there do not matter. */
export function readKubeconfig(paths: readonly string[], isGiven: boolean): Kubeconfig {
  const there = isGiven ? paths : paths.filter((path) => existsSync(path))
  if (there.length === 0) {
    const looked = paths.length === 0 ? '' : ` (looked for ${paths.join(', ')})`
    throw new KubeError(
      'config',
      `there is no kubeconfig${looked}; set KUBECONFIG, or name one with --kubeconfig`,
    )
  }
  const maps = { clusters: new Map(), users: new Map(), contexts: new Map() } as const
  let currentContext: string | undefined
  for (const file of there) {
    const document = parsed(file)
    currentContext ??= textOf(document['current-context'])
    for (const kind of ['clusters', 'users', 'contexts'] as const) {
      for (const entry of listOf(document[kind])) {
        const name = textOf(entry['name'])
        const fields = entry[kind.slice(0, -1)]
        if (name === undefined || maps[kind].has(name)) continue
        const part = { fields: isRecord(fields) ? fields : {}, directory: dirname(file), file }
        maps[kind].set(name, part)
      }
    }
  }
  return { files: there, currentContext, ...maps }
}

function parsed(file: string): Fields {
  let document: unknown
  try {
    const text = readKubeFile(file, 'kubeconfig')
    assertShallow(text)
    document = parse(text, { maxAliasCount: 20, logLevel: 'error' })
  } catch (error) {
    if (error instanceof KubeError) throw error
    if (error instanceof DeepYamlError) {
      throw new KubeError('config', `kubeconfig: ${file}: ${error.message}; fix it`)
    }
    // The parser's message may quote the line, which may hold a secret.
    const { linePos } = error as { linePos?: [{ line: number }] }
    const where = linePos === undefined ? '' : ` (line ${linePos[0].line})`
    throw new KubeError('config', `kubeconfig: ${file} is not YAML${where}; fix it`)
  }
  if (document === null || document === undefined) return {}
  if (!isRecord(document)) throw new KubeError('config', `kubeconfig: ${file} is no kubeconfig`)
  return document
}
