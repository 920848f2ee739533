import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { digestOf } from '../digest.ts'

/** An input by which something was found once. */
export interface Case {
  readonly target: string
  /** One character is one byte. */
  readonly input: string
  readonly said: string
}

/** The inputs of a target that are kept, in a directory of corpora. */
export function readCorpus(directory: string, target: string): readonly string[] {
  const file = join(directory, `${target}.json`)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as string[]) : []
}

/** Keeps the inputs of a target, sorted, so that a change of a few is a change of a few lines. */
export function writeCorpus(directory: string, target: string, inputs: readonly string[]): void {
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, `${target}.json`), json(inputs.toSorted()))
}

/** Writes a found input as a case, and returns its path. */
export function writeCase(directory: string, found: Case): string {
  mkdirSync(directory, { recursive: true })
  const digest = digestOf(Buffer.from(found.input, 'latin1')).toString(16).padStart(8, '0')
  const file = join(directory, `${found.target}-${digest}.json`)
  writeFileSync(file, json(found))
  return file
}

/** All cases of a directory. */
export function readCases(directory: string): Case[] {
  if (!existsSync(directory)) return []
  const files = readdirSync(directory).filter((name) => name.endsWith('.json'))
  return files.map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')) as Case)
}

/** Whatever is not plain ASCII is escaped, so that every byte can be seen. */
function json(value: unknown): string {
  const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${JSON.stringify(value, null, 2).replace(/[\u007f-\uffff]/g, escaped)}\n`
}
